/// Decides everything about one download: which ranges to request, which answers to trust, when to
/// retry, and when to start over. It takes events and returns commands, and has no side effects.
///
/// Bytes never pass through it. It shares a `SegmentPlan` with the code that writes them.
package struct DownloadMachine: Sendable {
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
    /// What it may be in place of the file.
    package var page: MisplacedPage?

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

    /// Whether the body is encoded as the bytes of this version are.
    func hasCoding(of body: ResponseBody) -> Bool {
      coding?.lowercased() == body.coding?.lowercased()
    }
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

  /// The most bytes of a decoded body without a limit of the user's: 1 GiB.
  static let decodingLimit: Int64 = 1 << 30

  let rules: Rules
  /// The time of the present event, and what surrounds it.
  var now: Instant
  var surroundings = Surroundings()
  var goal = Goal.transfer
  var naming: Naming
  var content: Content?
  /// What is done with the whole file.
  var ending: Ending?
  var fetches: [SegmentID: Fetch] = [:]

  /// Connections that it may open (0 while it waits for a slot), and the most that the rules and
  /// the server allow.
  var grantedConnections = 0
  var maximumConnections = 1
  /// The most fetches that delivered at the same time: the server serves at least that many.
  var peakDelivering = 0
  var meter: ConnectionMeter

  var ranges: RangeSupport
  var redirects = Redirects()
  /// The address that sends the bytes, if redirects have left the origin of the given one.
  package var sender: ResourceURL? { redirects.haveLeftOrigin ? version?.location : nil }
  var attempts: DownloadAttempts
  var changes = ChangeEvidence()
  /// Where bytes of an earlier run came from that no answer has confirmed yet.
  var pending: Pending?
  /// How many bytes were given up because nothing proves what they belong to; nil for none.
  var forgotten: Int64?
  /// Existing files that may be the requested one, and whether it must be one of them.
  var existing: (files: [ExistingFile], isNeeded: Bool) = ([], false)
  /// Without a number; nil until it is known, and for a stream.
  var fileName: String?
  var hasComparedExisting = false
  /// Whether a cache must ask the server before it answers.
  package internal(set) var needsConfirmation = false
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
    rules.request.checksums.isEmpty
      ? version?.announced.map { [$0] } ?? [] : rules.request.checksums
  }

  package init(rules: Rules, now: Instant, using rng: inout some RandomNumberGenerator) {
    self.rules = rules
    self.now = now
    naming = rules.learnsName ? .awaited : .known
    ranges = RangeSupport(
      isPossible: !rules.request.decodesContent && !rules.request.hasNoRanges)
    meter = ConnectionMeter(remembered: rules.rememberedConnections)
    attempts = DownloadAttempts(
      rules.request.retry, isAttended: rules.isAttended, now: now, using: &rng)
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
    (!rules.request.checksums.isEmpty && !rules.isStream) || rules.request.allowUnverified
  }
}

/// Stops everything, for one reason at a time.
extension DownloadMachine {
  /// Stops every fetch; `continueWhenStopped` continues when the last has stopped.
  mutating func stopAll(for newGoal: Goal, plan: inout SegmentPlan) -> [Command] {
    if let ending {
      // A finishing stream waits only for its reader, which may never return.
      if newGoal == .pause, rules.isStream { return finish(.paused) }
      // A publish that has begun is finished; the result of a verification is dropped.
      if newGoal == .pause { goal = .pause }
      if case .fail(let error) = newGoal, ending == .verifying { return finish(.failed(error)) }
      return []
    }
    // A failure is never replaced, and a restart does not replace a pause.
    switch (goal, newGoal) {
    case (.fail, _), (.pause, .confirm), (.pause, .startOver): break
    default: goal = newGoal
    }
    let commands = fetches.keys.sorted().map { Command.stop($0) }
    return commands.isEmpty ? continueWhenStopped(&plan) : commands
  }

  mutating func stopped(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    if let slowness = fetches[id]?.slowness, goal == .transfer, !plan.isComplete {
      return failed(id, slowness, plan: &plan)
    }
    guard close(id) != nil else { return [] }
    plan.release(id)
    guard goal == .transfer else { return continueWhenStopped(&plan) }
    if plan.isComplete { return fetches.isEmpty ? received(&plan) : [] }
    return forgetUnresumable(&plan) + openMore(&plan)
  }

  /// Continues once nothing is running.
  mutating func continueWhenStopped(_ plan: inout SegmentPlan) -> [Command] {
    guard fetches.isEmpty else { return [] }
    switch goal {
    case .transfer, .done: return []
    case .pause: return finish(.paused)
    case .fail(let error): return finish(.failed(error))
    case .confirm: return [.wake(.confirm, after: .seconds(1))]
    case .startOver(let reason): return startOver(reason, &plan)
    }
  }

  mutating func startOver(_ reason: String, _ plan: inout SegmentPlan) -> [Command] {
    // The reader may have received its first bytes while the server was asked again.
    guard !plan.isCommitted else { return finish(.failed(Self.changedInStream(reason))) }
    goal = .transfer
    // Without a strong validator, nobody knows that the file is another one now.
    if pending != .otherAddress, version?.validator.isStrong == false,
      version?.page == nil, plan.receivedCount > 0
    {
      forgotten = plan.receivedCount
    }
    (pending, content) = (nil, nil)
    redirects.forget()
    ranges.startOver()
    changes.startOver()
    maximumConnections = 1
    meter.tuner.handle(.lost, at: now)
    plan.startOver(length: nil)
    attempts.forgetProgress()
    return [.phase(.restarted, reason: reason)] + openMore(&plan)
  }

  mutating func fired(_ timer: Timer, plan: inout SegmentPlan) -> [Command] {
    switch timer {
    case .retry:
      guard attempts.isWaiting else { return [] }
      attempts.isWaiting = false
      guard goal == .transfer else { return [] }
      return grantedConnections == 0 ? [.requestSlot] : openMore(&plan)
    case .confirm:
      guard goal == .confirm else { return [] }
      // Some servers send another version, or a page, only to requests for a range.
      if changes.confirmations == 1, !plan.isCommitted { ranges.disuse() }
      guard let id = plan.assign(minimumSplit: rules.request.minimumSplit) else {
        // The window of a stream is full until its reader advances.
        return plan.window == nil ? [] : [.wake(.confirm, after: .seconds(1))]
      }
      ranges.mayBeConditional = false
      changes.confirming = id
      return [open(id, plan)]
    }
  }

  /// Drops connections under 1 KiB/s for 60 s, or longer after attempts that were silent.
  mutating func stopSlowFetches(plan: inout SegmentPlan) -> [Command] {
    guard !surroundings.isRateLimited, goal == .transfer, ending == nil else { return [] }
    var commands: [Command] = []
    for id in fetches.keys.sorted() {
      let seconds = 60 * patience(of: id)
      guard let fetch = fetches[id], fetch.body != nil, fetch.slowness == nil else { continue }
      guard let position = plan.segments[id]?.next else { continue }
      if plan.takeHasWaitedForReader(id) { fetches[id]?.slowSince = nil }
      guard let since = fetch.slowSince, position - since.position < seconds << 10 else {
        fetches[id]?.slowSince = (now, position)
        continue
      }
      guard now - since.instant >= .seconds(seconds) else { continue }
      fetches[id]?.slowness = TransferError(
        .stalled, "less than 1 KiB/s for \(seconds) seconds", advice: "try again later",
        isRetryable: true)
      commands.append(.stop(id))
    }
    return commands
  }
}
