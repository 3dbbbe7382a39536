/// Decides everything about one upload to a WebDAV server (RFC 4918). The file goes to a temporary
/// name in its directory. It gets its own name once the server has it whole, so that nobody reads a
/// part of it there.
package struct DAVMachine: UploadMachine {
  private enum State: Sendable, Hashable {
    case waiting, asking, making, storing, sending, checking, moving
    /// Whether the file is still under its temporary name, after a MOVE without an answer.
    case lookingForPart
    case lookingForTarget
    /// The temporary name is deleted; then the upload fails with this error.
    case cleaning(TransferError)
    case done
  }

  private let request: UploadRequest
  private let source: SourceIdentity
  private let addresses: DAVAddresses
  /// Of the source, in bytes; nil for a stream until its end was sent.
  private var length: Int64?
  private let isStream: Bool
  private var state = State.waiting
  /// The temporary name, once it is chosen; and whether it is on disk.
  private var part: ResourceURL?
  private var isPartStored = false
  /// The directory that is being made, in `addresses`.
  private var level = 0
  /// Whether a directory above the missing one was found or made.
  private var isDescending = false
  private var hasDirectory = false
  /// Whether the server may have something under the temporary name.
  private var mayHavePart = false
  /// Whether it has the whole file there.
  private var hasWholePart = false
  /// Whether a MOVE without a clear answer may have had its effect; and the clear refusal of one
  /// after it.
  private var mayHaveMoved = false
  private var refusal: TransferError?
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
    length = isStream ? nil : source.size
    addresses = DAVAddresses(request.url)
    attempts = UploadAttempts(request, isAttended: isAttended, now: now)
  }

  package mutating func handle(
    _ event: UploadEvent, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    switch (state, event) {
    case (_, .read(let extent)):
      length = extent.length
      return []
    case (.waiting, .start(let stored, _)): return start(stored, using: &rng)
    case (.storing, .stored(nil)): return send()
    case (.storing, .stored(let error?)): return finish(.failed(error))
    case (.checking, .sourceChecked(nil)): return move()
    case (.checking, .sourceChecked(let error?)): return end(error)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      let judge = UploadJudge(wallSeconds: answer.wallSeconds)
      return answered(answer.head, answer.sent, judge, at: now, using: &rng)
    case (.cleaning(let error), .failed): return finish(.failed(error))
    case (_, .failed(let error, _, _)):
      if state == .moving { mayHaveMoved = true }
      return failed(error, at: now, using: &rng)
    default: return []
    }
  }

  /// The request that deletes the temporary name of an upload; nil if its address cannot be read.
  package static func termination(
    of record: UploadRecord, _ request: UploadRequest
  ) -> UploadMessage? {
    request.address(of: record).map { message("DELETE", $0, request) }
  }

  private static func message(
    _ method: String, _ url: ResourceURL, _ request: UploadRequest, _ own: [(String, String)] = []
  ) -> UploadMessage {
    var fields = request.fields
    // It is the type of the file.
    if method != "PUT" { fields.remove("Content-Type") }
    for (name, value) in own { fields.append(name, value) }
    return UploadMessage(method, url, fields: fields)
  }

  private mutating func send(
    _ state: State, _ method: String, _ url: ResourceURL, _ own: [(String, String)] = []
  ) -> [UploadCommand] {
    self.state = state
    return [.send(Self.message(method, url, request, own))]
  }

  // MARK: The way of a file

  private mutating func start(
    _ stored: UploadRecord?, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    if case .entityTag = request.precondition {
      return finish(
        .failed(
          TransferError(
            .notYetSupported, "WebDAV cannot replace only one version of a file; use plain PUT")))
    }
    if part == nil, let stored, let known = request.address(of: stored),
      known.origin == request.url.origin
    {
      // Of an earlier run: what it left there is replaced.
      part = known
      (isPartStored, mayHavePart, mayHaveArrived) = (true, true, true)
    }
    if part == nil {
      part = addresses.sibling(DAVAddresses.temporaryName(using: &rng))
    }
    if mayHaveMoved { return look() }
    if hasWholePart { return check() }
    if request.precondition == .absent, !request.isDirectory {
      return send(.asking, "HEAD", addresses.target)
    }
    return makeDirectory()
  }

  private mutating func makeDirectory() -> [UploadCommand] {
    (level, isDescending) = (0, false)
    guard !hasDirectory, !addresses.directories.isEmpty else { return sendPart() }
    return send(.making, "MKCOL", addresses.directories[0])
  }

  private mutating func sendPart() -> [UploadCommand] {
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

  private mutating func check() -> [UploadCommand] {
    state = .checking
    return [.checkSource]
  }

  private mutating func move() -> [UploadCommand] {
    guard let part else { return [] }
    let overwrite = request.precondition == .absent ? "F" : "T"
    return send(
      .moving, "MOVE", part,
      [("Destination", addresses.target.absoluteString), ("Overwrite", overwrite)])
  }

  private mutating func look() -> [UploadCommand] {
    guard let part else { return [] }
    return send(.lookingForPart, "HEAD", part)
  }

  // MARK: Answers

  private mutating func answered(
    _ head: ResponseHead, _ sent: Int64, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let isSuccess = (200..<300).contains(head.status)
    switch (state, head.status) {
    case (.asking, _) where isSuccess: return end(conflict(head))
    // A server that does not answer HEAD still knows `Overwrite`.
    case (.asking, 404), (.asking, 410), (.asking, 403), (.asking, 405), (.asking, 501):
      return makeDirectory()
    case (.making, _): return makeAnswered(head, judge, at: now, using: &rng)
    case (.sending, _): return putAnswered(head, sent, judge, at: now, using: &rng)
    case (.moving, _): return moveAnswered(head, judge, at: now, using: &rng)
    case (.lookingForPart, _) where isSuccess:
      mayHaveMoved = refusal == nil
      return refusal.map { end($0) } ?? check()
    case (.lookingForPart, 404), (.lookingForPart, 410):
      return send(.lookingForTarget, "HEAD", addresses.target)
    case (.lookingForTarget, 404), (.lookingForTarget, 410):
      return sendAgain(head, judge, at: now, using: &rng)
    case (.lookingForTarget, _) where isSuccess: return found(head, judge, at: now, using: &rng)
    case (.cleaning(let error), _):
      let isGone = isSuccess || head.status == 404 || head.status == 410
      return (isGone ? [.deleteRecord] : []) + finish(.failed(error))
    default: return failed(judge.failure(of: head, to: request), at: now, using: &rng)
    }
  }

  /// Handles the answer to MKCOL (RFC 4918, section 9.3.1): 405 says that the directory exists, 409
  /// that the one above it does not.
  private mutating func makeAnswered(
    _ head: ResponseHead, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let error = judge.failure(of: head, to: request)
    switch head.status {
    case 200, 201, 405: break
    case 404, 409:
      guard !isDescending, level + 1 < addresses.directories.count else {
        return end(judge.error(.notFound, head, "the directory cannot be made; check the address"))
      }
      level += 1
      return send(.making, "MKCOL", addresses.directories[level])
    case _ where error.isRetryable || [.unauthorized, .proxy].contains(error.code):
      return failed(error, at: now, using: &rng)
    // Some servers refuse MKCOL whether or not the directory exists. PUT shows which.
    default:
      if request.isDirectory, level == 0 { return failed(error, at: now, using: &rng) }
    }
    guard level > 0 else { return sendPart() }
    (level, isDescending) = (level - 1, true)
    return send(.making, "MKCOL", addresses.directories[level])
  }

  private mutating func putAnswered(
    _ head: ResponseHead, _ sent: Int64, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let isFullySent = length.map { sent >= $0 } ?? false
    switch judge.verdict(on: head, to: request, isFullySent: isFullySent) {
    case .accepted:
      hasWholePart = true
      return check()
    case .early:
      return end(
        judge.error(.protocolViolation, head, "it did not have the whole file yet"))
    case .redirected(let target):
      return end(
        judge.error(.redirectRefused, head, "if that is right, upload to \(target.redacted)"))
    case .failure(let error): return failed(error, at: now, using: &rng)
    }
  }

  /// Handles the answer to MOVE (RFC 4918, section 9.9.4). One that leaves open what happened
  /// counts as no answer.
  private mutating func moveAnswered(
    _ head: ResponseHead, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    switch head.status {
    case 201, 204, 200: return [.deleteRecord] + finish(.completed)
    case 408, 500, 502, 503, 504:
      mayHaveMoved = true
      return failed(judge.failure(of: head, to: request), at: now, using: &rng)
    case 412:
      refusal = conflict(head)
    case 404:
      guard !mayHaveMoved else { break }
      return sendAgain(head, judge, at: now, using: &rng)
    case 207:
      refusal = judge.error(.httpStatus, head, "it did not give the file its name")
    default:
      refusal = judge.failure(of: head, to: request)
    }
    if mayHaveMoved { return look() }
    return failed(refusal ?? judge.failure(of: head, to: request), at: now, using: &rng)
  }

  /// The temporary name is gone, and only our MOVE takes it away: a file of the right length under
  /// the other name is ours. Anything else proves nothing.
  private mutating func found(
    _ head: ResponseHead, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    if let length, head.headers.single("Content-Length").flatMap({ Int64($0) }) == length {
      return [.deleteRecord] + finish(.completed)
    }
    guard request.precondition == .none else { return end(conflict(head)) }
    return sendAgain(head, judge, at: now, using: &rng)
  }

  /// The server has lost the file: all of it is sent again.
  private mutating func sendAgain(
    _ head: ResponseHead, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    (hasWholePart, mayHaveMoved, refusal) = (false, false, nil)
    return failed(
      judge.error(.httpStatus, head, "it no longer has what was sent", isRetryable: true),
      at: now, using: &rng)
  }

  private func conflict(_ head: ResponseHead) -> TransferError {
    let origin =
      mayHaveArrived || mayHaveMoved
      ? "; an earlier attempt of this upload may have stored it: compare it" : ""
    return TransferError(
      .nameConflict, "the server has a file there already\(origin)", status: head.status)
  }

  // MARK: Ends

  private mutating func failed(
    _ error: TransferError, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    switch attempts.failed(error, sendsAgain: !hasWholePart, at: now, using: &rng) {
    case .failure(let error): return end(error)
    case .success(let retry):
      (state, refusal) = (.waiting, nil)
      return [retry]
    }
  }

  /// Deletes the temporary name, with one attempt, and fails.
  private mutating func end(_ error: TransferError) -> [UploadCommand] {
    let isOpen = mayHaveMoved && error.code != .nameConflict
    let reason = error.message.prefix(beforeAnyOf: ";")
    let shown =
      isOpen
      ? TransferError(
        error.code, "\(reason); the server may have stored the file all the same: look there",
        status: error.status)
      : error
    guard mayHavePart, let part else { return finish(.failed(shown)) }
    return send(.cleaning(shown), "DELETE", part)
  }

  private mutating func finish(_ end: UploadEnd) -> [UploadCommand] {
    state = .done
    return [.finish(end)]
  }
}
