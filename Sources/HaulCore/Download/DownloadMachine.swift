/// Decides everything about one download: which ranges to request, which answers to trust, when to
/// retry, and when to start over. It takes events and returns commands, and has no side effects.
///
/// Bytes never pass through it. It shares a `SegmentPlan` with the code that writes them.
package struct DownloadMachine: Sendable {
  /// What is known from the request and the disk before the first event.
  package struct Rules: Sendable {
    package var url: ResourceURL
    package var headers = HeaderFields()
    package var allowInsecure = false
    package var trustedHosts: Set<String> = []
    package var connections = 8
    package var minimumSplit: Int64 = 1 << 20
    package var checksums: [Checksum] = []
    package var allowUnverified = false
    /// Whether the user says that another address serves the same resource.
    package var resumesFromOtherURL = false
    package var maximumSize: Int64?
    /// Whether encoded bodies are requested and decoded; ranges are not possible then.
    package var decodes = false
    package var retry = RetryPolicy()
    /// Whether the name comes with the first answer; nothing is written before that.
    package var learnsName = false
    /// Whether a person waits for it: then it fails soon if its host does not answer.
    package var isAttended = false
    /// Whether a reader gets the bytes as they come, so that they cannot be replaced later.
    package var isStream = false
    /// The number of connections that an earlier transfer of the host ended with.
    package var rememberedConnections: Int?

    package init(url: ResourceURL) { self.url = url }
  }

  /// One version of the resource.
  package struct Version: Sendable, Hashable {
    package var validator: Validator
    /// In bytes; nil until the end of a body that does not announce it.
    package var length: Int64?
    /// The digest of the whole file that the server announced (RFC 9530).
    package var announced: Checksum?
    /// Where the answer came from; nil until one of this run has arrived.
    package var location: ResourceURL?
    /// The content coding of its bytes.
    package var coding: String?
    /// Whether it is a web page although the address names another kind of file.
    package var isUnexpectedPage = false

    package init(
      validator: Validator, length: Int64?, announced: Checksum? = nil,
      location: ResourceURL? = nil, coding: String? = nil
    ) {
      self.validator = validator
      self.length = length
      self.announced = announced
      self.location = location
      self.coding = coding
    }
  }

  package indirect enum Command: Sendable, Hashable {
    case open(SegmentID, FetchRequest)
    /// Find the file by the name in this response; `bound` follows, before anything else.
    case bind(SegmentID)
    /// Write the body of this response; `newVersion` starts a new journal generation with its first
    /// byte.
    case receive(SegmentID, ResponseBody, newVersion: Version?)
    /// Compare the body of this response with the bytes on disk.
    case compare(SegmentID, ByteRange)
    /// Record that nothing proves later bytes to be of the same version as earlier ones.
    case noteMixedVersions
    /// Close this response without reading it.
    case drop(SegmentID)
    /// Stop a fetch; `stopped`, `ended` or `failed` follows.
    case stop(SegmentID)
    /// Start the journal of an empty resource.
    case begin(Version)
    case requestConnection
    case releaseConnection
    case wake(Timer, after: Duration)
    case releaseSlot
    case requestSlot
    /// The host refused this connection while others are open: those are its limit.
    case limitHost(TransferError)
    /// An additional connection got something else than its bytes: no more are opened.
    case refusedAdditional(TransferError)
    /// This number of connections was chosen, and why there are not more.
    case connectionsChosen(ConnectionChoice)
    /// A lost connection is reopened at once.
    case resume(TransferError)
    case pauseHost(Duration)
    /// The host did not answer: no transfer asks it for this long, then one at a time; nil if its
    /// transfers do not wait for each other.
    case hostFailed(nextTrial: Duration?)
    case verify([Checksum])
    case publish(Version)
    case phase(TransferEvent.Phase, reason: String?)
    case attempt(Int, TransferError, delay: Duration)
    case finish(End)
  }

  package enum Timer: Sendable, Hashable { case retry, confirm }

  package enum End: Sendable, Hashable {
    case completed(TransferResult.Verification)
    /// That file is the requested one.
    case alreadyExists(ExistingFile)
    case paused
    case failed(TransferError)
  }

  /// A fetch in progress.
  struct Fetch: Sendable {
    var request: FetchRequest
    var purpose = Purpose.receive
    /// The body's shape, once the answer was accepted.
    var body: ResponseBody?
    var hasDelivered = false
    /// Failures with one number count as one attempt.
    var attemptNumber: Int
    /// Why it is being stopped, if it is too slow.
    var slowness: TransferError?
    var slowSince: (instant: Instant, position: Int64)?
    /// Whether it is being stopped because it is not needed: that is no failure.
    var isUnneeded = false
    let openedAt: Instant
    /// Where its bytes began.
    let start: Int64
    /// Nil until it was measured after its first bytes.
    var pace: SegmentPace?

    init(
      _ request: FetchRequest, for purpose: Purpose, attemptNumber: Int, from start: Int64,
      at now: Instant
    ) {
      self.request = request
      self.purpose = purpose
      self.attemptNumber = attemptNumber
      self.start = start
      openedAt = now
    }
  }

  enum Purpose: Sendable {
    case receive, compare(ByteRange)
    /// Find out whether the file changed to this version, which an additional connection was shown.
    case identify(Version)
  }

  enum Naming: Sendable {
    case known
    /// The first accepted answer will have it.
    case awaited
    /// This answer has it, and waits until the disk was checked.
    case found(SegmentID, ResponseHead)
  }

  /// The version that is received.
  struct Content: Sendable {
    var version: Version
    /// Whether the part file holds bytes of it, and of no other.
    var hasBegun = false
    /// Whether only a digest can prove that all bytes are of one version.
    var mayMixVersions = false
    /// Whether `transferring` was reported.
    var isTransferring = false
  }

  enum Ending: Sendable { case verifying, publishing }

  /// Why everything in progress is being stopped.
  enum Goal: Sendable, Hashable {
    case transfer, confirm, startOver(String), pause, fail(TransferError), done
  }

  let rules: Rules
  var goal = Goal.transfer
  var content: Content?
  var fetches: [SegmentID: Fetch] = [:]
  /// What is done with the whole file.
  var ending: Ending?

  /// Connections that it may open (0 while it waits for a slot), and the most that the rules and
  /// the server allow.
  var grantedConnections = 0
  var maximumConnections = 1
  var meter: ConnectionMeter
  /// The most fetches that delivered at the same time: the server serves at least that many.
  var peakDelivering = 0
  /// The time of the present event, and what surrounds it.
  var now: Instant
  var surroundings = Surroundings()

  /// The most bytes of a decoded body without a limit of the user's: 1 GiB.
  static let decodingLimit: Int64 = 1 << 30

  var ranges: RangeSupport
  var redirects = Redirects()
  var attempts: DownloadAttempts
  var changes = ChangeEvidence()
  /// Whether bytes of an earlier run wait for an answer that confirms them.
  var pending: Pending?
  /// How many bytes were given up because nothing proves what they belong to; nil for none.
  var forgotten: Int64?
  /// Existing files that may be the requested one, and whether it must be one of them.
  var existing: (files: [ExistingFile], isNeeded: Bool) = ([], false)
  var hasComparedExisting = false
  /// Whether a cache must ask the server before it answers.
  package internal(set) var needsConfirmation = false
  var naming: Naming
  var framing = ResponseBody.Framing.length
  /// Wall time of the last answer, for dates with two-digit years.
  var wallSeconds = 0.0

  package var version: Version? { content?.version }
  var hasBegun: Bool { content?.hasBegun == true }
  var mayMixVersions: Bool { content?.mayMixVersions == true }

  /// The digests that the whole file must have: the user's, or one that the server announced.
  package var checksums: [Checksum] { checksums(of: version) }

  /// The digests that a version must have.
  package func checksums(of version: Version?) -> [Checksum] {
    rules.checksums.isEmpty ? version?.announced.map { [$0] } ?? [] : rules.checksums
  }

  package init(rules: Rules, now: Instant, using rng: inout some RandomNumberGenerator) {
    self.rules = rules
    self.now = now
    naming = rules.learnsName ? .awaited : .known
    ranges = RangeSupport(isPossible: !rules.decodes)
    meter = ConnectionMeter(remembered: rules.rememberedConnections)
    attempts = DownloadAttempts(
      rules.retry, isAttended: rules.isAttended, now: now, using: &rng)
  }

  /// Handles one event, updates the plan, and returns what to do, in order; O(segments + ranges).
  package mutating func handle(
    _ event: Event, in surroundings: Surroundings, plan: inout SegmentPlan, at now: Instant
  ) -> [Command] {
    (self.now, self.surroundings) = (now, surroundings)
    if goal == .done { return late(event) }
    switch event {
    case .start(let found): return start(found, plan: &plan)
    case .bound(let found): return bound(found, plan: &plan)
    case .connectionGranted:
      // The slot, and this connection with it, was given back meanwhile.
      guard grantedConnections > 0 else { return [] }
      grantedConnections += 1
      return openMore(&plan)
    case .responded(let id, let head, let isFromOtherAddress, let wallSeconds):
      self.wallSeconds = wallSeconds
      return responded(id, head, isFromOtherAddress, plan: &plan)
    case .delivered(let id): return delivered(id, plan: &plan)
    case .ended(let id): return ended(id, plan: &plan)
    case .failed(let id, let error): return failed(id, error, plan: &plan)
    case .stopped(let id): return stopped(id, plan: &plan)
    case .compared(let id, let isSame): return compared(id, isSame: isSame, plan: &plan)
    case .timer(let timer): return fired(timer, plan: &plan)
    case .tick:
      // `openMore` repeats a request for a connection that was refused.
      return stopSlowFetches(plan: &plan) + measureRates(&plan) + openMore(&plan)
    case .measured: return measured(&plan)
    case .slotGranted:
      grantedConnections = 1
      // The wait for the next attempt may have ended early.
      attempts.isWaiting = false
      return openMore(&plan)
    case .windowMoved: return openMore(&plan)
    case .pause: return stopAll(for: .pause, plan: &plan)
    case .verified(let error): return verified(error, plan: &plan)
    case .published(let error):
      return finish(error.map { .failed($0) } ?? .completed(verification))
    case .diskFailed(let error): return stopAll(for: .fail(error), plan: &plan)
    }
  }

  /// After the end, only late answers still arrive; they must be released.
  private func late(_ event: Event) -> [Command] {
    if case .responded(let id, _, _, _) = event { return [.drop(id)] }
    return []
  }

  /// Whether bytes of the version may be joined with those of another answer.
  var mayResume: Bool {
    version?.validator.isStrong == true || joinsMixedVersions
  }

  /// Whether bytes may be joined without a validator that proves one version. A digest of the whole
  /// file checks them at the end, which is too late for a stream.
  var joinsMixedVersions: Bool {
    (!rules.checksums.isEmpty && !rules.isStream) || rules.allowUnverified
  }
}
