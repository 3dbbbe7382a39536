/// Decides everything about one upload to a WebDAV server (RFC 4918). The file goes to a temporary
/// name in its directory. It gets its own name once the server has it whole, so that nobody reads a
/// part of it there.
package struct DAVMachine: UploadMachine {
  enum State: Sendable, Hashable {
    case waiting, asking, making, storing, sending, checking, moving
    /// Whether the directory exists, after this refusal to make it.
    case lookingForDirectory(TransferError)
    /// What the server has. HEAD is first, and has found this; PROPFIND says what it did not.
    case looking(DAVQuestion, head: DAVFinding?)
    /// What has the name of the file.
    case lookingAtTarget(DAVTargetLook)
    /// The temporary name is deleted; then the upload fails with this error.
    case cleaning(TransferError)
    /// The same; then the file is sent to its own name, because of this error.
    case clearing(TransferError)
    case done
  }

  let request: UploadRequest
  private let source: SourceIdentity
  private(set) var addresses: DAVAddresses
  /// The length of the source, in bytes; nil for a stream until its end was sent.
  private(set) var length: Int64?
  private let isStream: Bool
  private let isAttended: Bool
  var state = State.waiting
  /// Decides instead, once the server is known not to move files.
  private var plain: PutMachine?
  /// The temporary name, once it is chosen; and whether it is on disk.
  private var part: ResourceURL?
  private var isPartStored = false
  /// The directory that is being made, in `addresses`.
  private var level = 0
  /// Whether a directory above the missing one was found or made.
  private var isDescending = false
  private var hasDirectory = false
  /// How often the server has named another directory.
  private var redirects = 0
  /// Whether the server may have something under the temporary name.
  private var mayHavePart = false
  /// Whether it has the whole file there.
  var hasWholePart = false
  /// Whether the server has shown it there, and with which entity tag.
  var isPartVisible = false
  var partTag: String?
  /// Whether a MOVE without a clear answer may have had its effect; and the clear refusal of one
  /// after it.
  var mayHaveMoved = false
  var refusal: TransferError?
  /// Whether the server does not move files; then they are sent to their own name.
  var lacksMove = false
  /// Whether the server was asked what has the name of the file; and the file that has it, where
  /// the server tells its version.
  private var hasSeenTarget = false
  var replaced: StoredVersion?
  /// Whether what has the name of the file may be replaced: it is no directory. A MOVE that
  /// overwrites deletes a directory with all that is in it (RFC 4918, section 9.9.3).
  var replaces = false
  /// How often MOVE was answered 200, which RFC 4918 does not know.
  var emptyMoves = 0
  /// How the next MOVE names where to.
  var destination = DAVDestination.path
  /// Since when the server is at work on a MOVE, and how often it was asked since.
  private var movingSince: Instant?
  private(set) var looks = 0
  /// Why the upload fails, unless a last look finds the file.
  var lastError: TransferError?
  /// Whether an earlier run may have moved the file to its name.
  private var mayHaveArrived = false
  package var attempts: UploadAttempts

  /// - Parameter isStream: whether the source is a stream of unknown length.
  package init(
    _ request: UploadRequest, source: SourceIdentity, isStream: Bool = false, isAttended: Bool,
    now: Instant
  ) {
    self.request = request
    self.source = source
    self.isStream = isStream
    self.isAttended = isAttended
    length = isStream ? nil : source.size
    addresses = DAVAddresses(request.url)
    attempts = UploadAttempts(request, isAttended: isAttended, now: now)
  }

  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    if plain != nil {
      plain?.attempts.follow(attempts)
      return plain?.take(event) ?? []
    }
    switch (state, event) {
    case (_, .read(let extent)):
      length = extent.length
      return []
    case (.waiting, .start(let stored, _)): return start(stored)
    case (.storing, .stored(nil)): return send()
    case (.storing, .stored(let error?)): return finish(.failed(error))
    case (.checking, .sourceChecked(nil)): return publish()
    case (.checking, .sourceChecked(let error?)): return end(error)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      let judge = UploadJudge(answer, of: request)
      return answered(answer, judge)
    case (.cleaning(let error), .failed): return finish(.failed(error))
    case (.clearing(let error), .failed): return sendDirectly(because: error)
    // The server took the file, and need not answer more.
    case (.looking(let question, let head), .failed) where question.isOptional:
      return found(.unclear(nil), question, head)
    case (.lookingAtTarget(.beforeMove), .failed): return move()
    case (.making, .failed(let error, _, _)) where isLowest && error.hadConnection:
      return lookForDirectory(error)
    case (_, .failed(let error, _, _)):
      if state == .moving { mayHaveMoved = true }
      return failed(error)
    default: return []
    }
  }

  /// The request that deletes the temporary name of an upload; none if its address cannot be read.
  package static func terminations(
    of record: UploadRecord, _ request: UploadRequest
  ) -> [UploadMessage] {
    request.address(of: record).map { [message("DELETE", $0, request)] } ?? []
  }

  static func message(
    _ method: String, _ url: ResourceURL, _ request: UploadRequest, _ own: [(String, String)] = []
  ) -> UploadMessage {
    var fields = request.fields
    // It is the type of the file.
    if method != "PUT" { fields.remove("Content-Type") }
    for (name, value) in own { fields.append(name, value) }
    return UploadMessage(method, url, fields: fields)
  }

  mutating func send(
    _ state: State, _ method: String, _ url: ResourceURL, _ own: [(String, String)] = []
  ) -> [UploadCommand] {
    self.state = state
    return [.send(Self.message(method, url, request, own))]
  }

  // MARK: The way of a file

  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand] {
    if case .entityTag = request.precondition {
      return finish(
        .failed(
          TransferError(
            .notYetSupported, "WebDAV cannot replace only one version of a file",
            advice: "use plain PUT")))
    }
    if part == nil, let stored, let known = request.address(of: stored),
      known.origin == request.url.origin
    {
      // What an earlier run left there is replaced.
      part = known
      (isPartStored, mayHavePart, mayHaveArrived) = (true, true, true)
    }
    if part == nil {
      part = addresses.sibling(DAVAddresses.temporaryName(attempts.random.next()))
    }
    if mayHaveMoved { return look() }
    if hasWholePart { return check() }
    if request.precondition == .absent, !request.isDirectory {
      return send(.asking, "HEAD", addresses.target)
    }
    return makeDirectory()
  }

  mutating func makeDirectory() -> [UploadCommand] {
    (level, isDescending) = (0, false)
    guard !hasDirectory, addresses.directoryCount > 0 else { return sendPart() }
    return send(.making, "MKCOL", addresses.directory(0))
  }

  mutating func sendPart() -> [UploadCommand] {
    hasDirectory = true
    guard !request.isDirectory else { return [.deleteRecord] + finish(.completed) }
    guard !isPartStored else { return send() }
    guard let part else { return finish(.failed(TransferError(.badURL, "it has no directory"))) }
    state = .storing
    return [.storeRecord(UploadRecord(address: part.absoluteString, source: source))]
  }

  private mutating func send() -> [UploadCommand] {
    guard let part else { return [] }
    (isPartStored, mayHavePart, state) = (true, true, .sending)
    var message = Self.message("PUT", part, request)
    message.sendsStream = isStream
    if let length, !isStream { message.range = 0..<length }
    return [.send(message)]
  }

  mutating func check() -> [UploadCommand] {
    state = .checking
    return [.checkSource]
  }

  mutating func move() -> [UploadCommand] {
    guard let part else { return [] }
    return send(
      .moving, "MOVE", part,
      [
        ("Destination", destination.text(of: addresses.target)),
        ("Overwrite", replaces ? "T" : "F"),
      ])
  }

  /// Gives the file its name, once it is known what a MOVE would replace: some servers do not obey
  /// `Overwrite`, and some put the file elsewhere.
  private mutating func publish() -> [UploadCommand] {
    hasSeenTarget ? move() : lookAtTarget(.beforeMove)
  }

  mutating func lookAtTarget(_ look: DAVTargetLook) -> [UploadCommand] {
    (state, hasSeenTarget) = (.lookingAtTarget(look), true)
    let target = addresses.target
    var message =
      look == .refusedByHead
      ? Self.message("HEAD", target, request) : .properties(target, of: request)
    message.isOptional = look == .beforeMove
    return [.send(message)]
  }

  /// Asks what the server has.
  mutating func look(
    _ question: DAVQuestion = .part, after head: DAVFinding? = nil
  ) -> [UploadCommand] {
    guard let part else { return [] }
    let url = question.isOfTarget ? addresses.target : part
    state = .looking(question, head: head)
    var message: UploadMessage =
      head == nil ? .measure(url, of: request) : .properties(url, of: request)
    message.isOptional = question.isOptional
    return [.send(message)]
  }

  /// The directory need not be missing, although the server refuses to make it.
  mutating func lookForDirectory(_ refusal: TransferError) -> [UploadCommand] {
    state = .lookingForDirectory(refusal)
    return [.send(.properties(addresses.directory(0), of: request))]
  }

  /// Makes the directory above the missing one; looks for that, if there is none.
  mutating func ascend(_ refusal: TransferError) -> [UploadCommand] {
    guard !isDescending, level + 1 < addresses.directoryCount else {
      return lookForDirectory(refusal)
    }
    level += 1
    return send(.making, "MKCOL", addresses.directory(level))
  }

  /// Makes the next directory below the one that exists.
  mutating func descend() -> [UploadCommand] {
    guard level > 0 else { return sendPart() }
    (level, isDescending) = (level - 1, true)
    return send(.making, "MKCOL", addresses.directory(level))
  }

  /// The directory that is being made.
  var directory: ResourceURL { addresses.directory(level) }
  /// Whether it is the one that the file goes to.
  var isLowest: Bool { level == 0 }

  /// The server names another place of the same origin for the directory of the file.
  /// - Returns: nil if it has done so too often, or it cannot be read.
  mutating func relocate(beside other: ResourceURL) -> [UploadCommand]? {
    guard redirects < 5, let part, let moved = addresses.moved(beside: other),
      let newPart = moved.sibling(part.lastName)
    else { return nil }
    redirects += 1
    hasDirectory = false
    forgetTarget()
    (addresses, self.part, isPartStored, mayHavePart) = (moved, newPart, false, false)
    return makeDirectory()
  }

  private mutating func forgetTarget() {
    (hasSeenTarget, replaces, replaced) = (false, false, nil)
  }

  /// Deletes the temporary name, and then sends the file to its own.
  /// - Parameter error: what the server did; it gets the advice.
  mutating func giveUpMoving(_ error: TransferError) -> [UploadCommand] {
    func advised(_ advice: String) -> TransferError {
      TransferError(error.code, error.fact, advice: advice, status: error.status)
    }
    guard !attempts.isSpent, let part else {
      return end(advised("upload it again from its beginning, to https:// without dav+"))
    }
    return send(.clearing(advised("the file goes directly to its own name")), "DELETE", part)
  }

  mutating func sendDirectly(because error: TransferError) -> [UploadCommand] {
    var request = request
    (request.method, request.url) = (.put, addresses.target)
    plain = PutMachine(
      request, length: isStream ? nil : length, hasRun: mayHaveArrived, measures: .byProperties,
      isAttended: isAttended, now: attempts.now)
    return [.deleteRecord, .retry(after: .zero, attempt: 1, error)]
  }

  /// The server has lost the file: all of it is sent again.
  mutating func sendAgain() -> [UploadCommand] {
    (hasWholePart, mayHaveMoved, refusal) = (false, false, nil)
    forgetTarget()
    let lost = TransferError(
      .httpStatus, "the server no longer has what was sent", isRetryable: true)
    return failed(lost)
  }

  func conflict(_ status: Int) -> TransferError {
    .isStoredAlready(perhapsByThis: mayHaveArrived || mayHaveMoved, status: status)
  }

  // MARK: Ends

  /// The server is still at work on a MOVE: it copies or joins the file, which may take minutes.
  /// These looks are no attempts.
  mutating func wait(_ error: TransferError) -> [UploadCommand] {
    let since = movingSince ?? attempts.now
    (movingSince, mayHaveMoved, refusal) = (since, true, nil)
    guard attempts.now - since < Self.patience else {
      return finish(.failed(error.leavingOpen))
    }
    looks += 1
    state = .waiting
    let delay = error.retryAfter ?? .seconds(min(1 << min(looks - 1, 4), 15))
    return [.retry(after: delay, attempt: looks, error)]
  }

  /// How long a MOVE may take, once the server has said that it is not done.
  private static let patience: Duration = .seconds(900)

  mutating func failed(_ error: TransferError) -> [UploadCommand] {
    if let lastError { return end(lastError) }
    switch attempts.failed(error, sendsAgain: !hasWholePart) {
    case .failure(let error):
      // Some servers fail at a name that they do not like.
      if state == .sending, error.status == 500, !attempts.isSpent { return giveUpMoving(error) }
      guard mayHaveMoved else { return end(error) }
      lastError = error
      return look()
    case .success(let retry):
      (state, refusal) = (.waiting, nil)
      return [retry]
    }
  }

  /// Deletes the temporary name, with one attempt, and fails.
  mutating func end(_ error: TransferError) -> [UploadCommand] {
    let shown = mayHaveMoved && error.code != .nameConflict ? error.leavingOpen : error
    guard mayHavePart, let part else { return finish(.failed(shown)) }
    return send(.cleaning(shown), "DELETE", part)
  }

  mutating func finish(_ end: UploadEnd) -> [UploadCommand] {
    state = .done
    return [.finish(end)]
  }
}

extension TransferError {
  /// The same, of an upload that may have succeeded.
  fileprivate var leavingOpen: TransferError {
    TransferError(
      code, fact, advice: "the server may have stored the file all the same: look there",
      status: status)
  }
}
