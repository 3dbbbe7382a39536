/// What a WebDAV server is asked about.
enum DAVQuestion: Sendable, Hashable {
  /// How long the file is under its temporary name, after it was sent.
  case stored
  /// Whether it is still there, after a MOVE without a clear answer; with the clear refusal of one
  /// after that.
  case part(refusal: TransferError? = nil)
  /// Whether it is under its own name, after that.
  case target
  /// The same, after the server said so.
  case moved
  /// Whether the temporary name is left then, beside a file that is as before.
  case left

  var isOfTarget: Bool { self == .target || self == .moved }
  /// Whether the server has said already what the answer would show.
  var isOptional: Bool { self == .stored || self == .moved || self == .left }
}

/// Why it is asked what has the name of the file.
enum DAVTargetLook: Sendable, Hashable { case first, beforeMove, refused, refusedByHead }

/// What its answer says.
enum DAVFinding: Sendable, Hashable {
  case length(Int64)
  case withoutLength
  /// The file that the MOVE should have replaced.
  case unchanged
  case directory
  case gone
  /// With the error that the answer is, if another attempt may say more.
  case unclear(TransferError?)

  fileprivate var tellsContent: Bool {
    switch self {
    case .length, .gone, .unchanged, .directory: true
    case .withoutLength, .unclear: false
    }
  }
}

/// What answers mean, in each state.
extension DAVMachine {
  mutating func answered(_ answer: UploadAnswer, _ judge: UploadJudge) -> [UploadCommand] {
    let head = answer.head
    let isSuccess = (200..<300).contains(head.status)
    let isGone = head.status == 404 || head.status == 410
    switch state {
    case .asking where isSuccess && request.precondition == .absent:
      return end(conflict(head.status))
    // A server that does not answer HEAD still knows `Overwrite`.
    case .asking where isSuccess || isGone || [403, 405, 501].contains(head.status):
      if isGone { publication.keep(.absent) }
      return makeDirectory()
    case .asking: return failed(judge.failure(of: head, to: request).ofQuestion)
    case .making(let level, let isDescending):
      return makeAnswered(head, level, isDescending: isDescending, judge)
    case .lookingForDirectory(let refusal):
      return directoryAnswered(head, refusal, judge)
    case .sending: return putAnswered(head, answer.sent, judge)
    case .moving: return moveAnswered(head, judge)
    case .looking(let question, let byHead):
      if question == .stored, byHead == nil { part?.tag = head.headers["ETag"] }
      let finding = finding(in: answer, question, isProperty: byHead != nil, judge)
      return found(finding, question, byHead)
    case .lookingAtTarget(.first): return firstAnswered(answer, judge)
    case .comparing: return compared(answer, judge)
    case .comparingFile(let content):
      return compared(content, with: StoredContent(head, of: request).digests)
    case .lookingAtTarget(.beforeMove): return targetAnswered(answer)
    case .lookingAtTarget(let look):
      return collectionAnswered(answer, byHead: look == .refusedByHead, judge)
    case .cleaning(let end):
      return (isSuccess || isGone ? [.deleteRecord] : []) + finish(end)
    case .clearing(let error):
      return sendDirectly(because: error, isCleared: isSuccess || isGone)
    default: return failed(judge.failure(of: head, to: request))
    }
  }

  // MARK: Directories

  /// Handles the answer to MKCOL (RFC 4918, section 9.3.1): 405 says that the directory exists, 409
  /// that the one above it does not. Some servers answer 409 or a redirect where one exists.
  private mutating func makeAnswered(
    _ head: ResponseHead, _ level: Int, isDescending: Bool, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let error = judge.failure(of: head, to: request)
    let (directory, isLowest) = (addresses.directory(level), level == 0)
    switch head.status {
    case 200..<300, 405: return descend(from: level)
    case 404, 409: return ascend(error, from: level, isDescending: isDescending)
    case 300..<400:
      let target = head.headers["Location"].flatMap { try? directory.uploadTarget(named: $0) }
      if let target, target.isSameDirectory(as: directory) { return descend(from: level) }
      if isLowest, let target, target.origin == directory.origin,
        head.status == 307 || head.status == 308,
        let commands = relocate(beside: target.asDirectory)
      {
        return commands
      }
    // Some servers answer so where the directory exists.
    case 423 where isLowest, 500 where isLowest, 502...504 where isLowest:
      return lookForDirectory(error)
    case _ where error.isRetryable || [.unauthorized, .proxy].contains(error.code):
      return failed(error)
    default: break
    }
    // Some servers refuse MKCOL whether or not the directory exists. PUT shows which.
    return request.isDirectory && isLowest ? lookForDirectory(error) : descend(from: level)
  }

  private mutating func directoryAnswered(
    _ head: ResponseHead, _ refusal: TransferError, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let error = judge.failure(of: head, to: request)
    switch head.status {
    case 207: return sendPart()
    case _ where refusal.isRetryable: return failed(refusal)
    case 404, 410:
      let isParentMissing = refusal.status == 404 || refusal.status == 409
      let missing = judge.error(
        .notFound, head, "the directory cannot be made; check the address")
      return end(isParentMissing ? missing : refusal)
    case _ where error.isRetryable || [.unauthorized, .proxy].contains(error.code):
      return failed(error)
    // PUT shows whether it exists.
    default: return request.isDirectory ? failed(refusal) : sendPart()
    }
  }

  // MARK: The file

  private mutating func putAnswered(
    _ head: ResponseHead, _ sent: Int64, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let isFullySent = length.map { sent >= $0 } ?? false
    switch judge.verdict(on: head, to: request, isFullySent: isFullySent) {
    case .accepted:
      part?.isWhole = true
      return look(.stored)
    case .early:
      return end(judge.error(.protocolViolation, head, "it did not have the whole file yet"))
    case .redirected(let target):
      if !attempts.isSpent, let commands = relocate(beside: target) { return commands }
      return end(
        judge.error(.redirectRefused, head, "if that is right, upload to \(target.redacted)"))
    // The name may be what it refuses: some servers allow only certain names.
    case .failure(let error)
    where [400, 403, 404, 405, 406, 409, 415, 422, 501].contains(head.status):
      guard !attempts.isSpent else { return end(error) }
      return giveUpMoving(
        TransferError(
          error.code, "the server answered \(head.status) to a temporary name",
          status: head.status))
    case .failure(let error): return failed(error)
    }
  }

  /// Handles the answer to MOVE (RFC 4918, section 9.9.4). One that leaves open what happened
  /// counts as no answer.
  private mutating func moveAnswered(
    _ head: ResponseHead, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let error = judge.failure(of: head, to: request)
    if mayRefuseDestination(head.status), takeNextDestination() { return move() }
    switch head.status {
    case 201, 204: return look(.moved)
    // No answer to MOVE: perhaps a page of somebody else.
    case 200:
      mayHaveMoved = true
      emptyMoves += 1
      if emptyMoves > 1 {
        lacksMove = true
        let refusal = TransferError(
          .httpStatus, "the server answered 200 to MOVE and moved nothing", status: 200)
        return look(.part(refusal: refusal))
      }
      return look()
    case 202:
      return wait(judge.error(.httpStatus, head, "it is not done yet"))
    case 423 where mayHaveMoved: return wait(error)
    // A proxy did not wait for the server, which goes on.
    case 504 where delay.looks == 0, 522 where delay.looks == 0, 524 where delay.looks == 0:
      return wait(error)
    case 500, 502:
      mayHaveMoved = true
      let isLastForm = !takeNextDestination()
      // The same to every form: no proxy that waits, but one that knows another place.
      return head.status == 502 && isLastForm ? moveRefused(head, error) : failed(error)
    case 408, 503, 504, 520...527:
      mayHaveMoved = true
      return failed(error)
    case 412 where mayBeReplaced && !target.isFile: return lookAtTarget(.refused)
    case 404 where !mayHaveMoved: return sendAgain()
    case 207:
      return moveRefused(
        head, judge.error(.httpStatus, head, "it did not give the file its name"))
    default: return moveRefused(head, error)
    }
  }

  /// Whether the form of the target may be what the server does not know.
  private func mayRefuseDestination(_ status: Int) -> Bool {
    switch status {
    case 400, 409: true
    case 404: !mayHaveMoved
    case 412: request.precondition == .none && target.isFile
    default: false
    }
  }

  /// Chooses another form of the target for the next MOVE.
  /// - Returns: whether there is one.
  private mutating func takeNextDestination() -> Bool {
    guard let next = destination.next(for: request.url) else { return false }
    destination = next
    return true
  }

  /// MOVE is refused; an earlier one may have had its effect all the same.
  private mutating func moveRefused(
    _ head: ResponseHead, _ error: TransferError
  ) -> [UploadCommand] {
    var error = error
    switch head.status {
    case 412 where request.precondition == .absent: error = conflict(head.status)
    case 400, 403, 405, 409, 412, 501, 502:
      lacksMove = true
      error = TransferError(
        error.code, "the server answered \(head.status) to MOVE", status: head.status)
    default: break
    }
    if mayHaveMoved { return look(.part(refusal: error)) }
    return lacksMove ? giveUpMoving(error) : failed(error)
  }

  /// Handles what has the name of the file before the first MOVE. A server that does not say it
  /// gets a MOVE that must not overwrite.
  private mutating func targetAnswered(_ answer: UploadAnswer) -> [UploadCommand] {
    switch StoredLength.isCollection(answer) {
    case true: return end(.isNoFile)
    case false where publication.isReplaced(by: StoredVersion(answer)): return compare()
    case false where request.precondition == .absent: return end(conflict(412))
    case false: target = .file(StoredVersion(answer))
    case nil: break
    }
    return move()
  }

  /// What has the name of the file is replaced if it is known to be a file.
  private mutating func collectionAnswered(
    _ answer: UploadAnswer, byHead: Bool, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let head = answer.head
    let error = judge.failure(of: head, to: request)
    let isFile: Bool
    if byHead, head.status >= 400, error.isRetryable {
      return failed(error)
    } else if byHead {
      // A directory is answered with a redirect, or with a page.
      isFile = StoredLength.head(head, of: request) != nil
    } else if let isCollection = StoredLength.isCollection(answer) {
      isFile = !isCollection
    } else if head.status == 404, takeNextDestination() {
      return move()
    } else {
      return error.isRetryable || [.unauthorized, .proxy].contains(error.code)
        ? failed(error) : lookAtTarget(.refusedByHead)
    }
    guard isFile else { return end(.isNoFile) }
    if publication.isReplaced(by: byHead ? nil : StoredVersion(answer)) { return compare() }
    target = .file(nil)
    return mayHaveMoved ? look() : move()
  }

  // MARK: What the server has

  private func finding(
    in answer: UploadAnswer, _ question: DAVQuestion, isProperty: Bool, _ judge: UploadJudge
  ) -> DAVFinding {
    switch answer.head.status {
    case 404, 410: return .gone
    case 207 where StoredLength.isCollection(answer) == true: return .directory
    case 207 where question.isOfTarget && StoredVersion(answer) == target.version: return .unchanged
    case 200..<300:
      let length =
        isProperty
        ? StoredLength.property(answer) : StoredLength.head(answer.head, of: request)
      return length.map { .length($0) } ?? .withoutLength
    default: return .unclear(judge.failure(of: answer.head, to: request))
    }
  }

  /// - Parameter byHead: what HEAD has found, if this is the answer to PROPFIND.
  mutating func found(
    _ finding: DAVFinding, _ question: DAVQuestion, _ byHead: DAVFinding?
  ) -> [UploadCommand] {
    if byHead == nil, !isEnough(finding, for: question) { return look(question, after: finding) }
    switch question {
    case .stored: return measured(finding, byHead)
    case .part(let refusal): return foundPart(finding, refusal)
    case .target: return foundTarget(finding)
    case .moved: return foundMoved(finding, byHead)
    case .left: return foundLeft(finding)
    }
  }

  /// Whether PROPFIND need not be asked too.
  private func isEnough(_ finding: DAVFinding, for question: DAVQuestion) -> Bool {
    switch (question, finding) {
    // Only properties tell it from a file of that length that it replaces.
    case (.moved, .length(let found)), (.target, .length(let found)):
      found == length && found != target.version?.length
    case (.left, _), (.part, .length), (.part, .withoutLength): true
    case (_, .length(let found)): found == length
    case (.stored, _), (.moved, _), (_, .unchanged), (_, .directory): false
    case (_, .gone): true
    case (_, .unclear(let error)): error?.isRetryable ?? false
    case (.target, .withoutLength): false
    }
  }

  /// The file must be whole under its temporary name before it gets its own.
  private mutating func measured(_ finding: DAVFinding, _ byHead: DAVFinding?) -> [UploadCommand] {
    var found: Int64?
    if case .length(let stored)? = byHead { found = stored }
    if case .length(let stored) = finding { found = stored }
    part?.isVisible =
      found != nil || byHead == .withoutLength || [.withoutLength, .directory].contains(finding)
    guard let length, let found, found != length else { return check() }
    part?.isWhole = false
    return failed(attempts.mismatch(found, of: length))
  }

  private mutating func foundPart(
    _ finding: DAVFinding, _ refusal: TransferError?
  ) -> [UploadCommand] {
    switch finding {
    case .length, .withoutLength, .unchanged, .directory:
      if let lastError { return end(lastError) }
      mayHaveMoved = refusal == nil
      guard let refusal else { return check() }
      return lacksMove ? giveUpMoving(refusal) : end(refusal)
    // Some servers hide such names: then it was never there to be asked for.
    case .gone where part?.isVisible != true: return failed(.unknownState)
    case .gone: return look(.target)
    case .unclear(let error) where error?.status == 423:
      return wait(error ?? .unknownState)
    case .unclear(let error): return failed(error ?? .unknownState)
    }
  }

  /// The temporary name is gone, and only our MOVE takes it away: a file of the right length under
  /// the other name is ours. Anything else proves nothing.
  private mutating func foundTarget(_ finding: DAVFinding) -> [UploadCommand] {
    switch finding {
    case .length(let found) where found == length: return [.deleteRecord] + finish(.completed)
    case .unclear(let error): return failed(error ?? .unknownState)
    case .directory: return end(.isNoFile)
    case .length, .withoutLength, .unchanged:
      guard request.precondition == .none else { return end(conflict(200)) }
      return sendAgain()
    case .gone: return sendAgain()
    }
  }

  /// The server says that it moved the file. It is believed unless something else has the name, or
  /// nothing: a proxy may map `Destination` to another place than the address.
  private mutating func foundMoved(
    _ finding: DAVFinding, _ byHead: DAVFinding?
  ) -> [UploadCommand] {
    let shown = finding.tellsContent ? finding : byHead ?? finding
    switch shown {
    case .length(let found) where found == length: break
    case .withoutLength, .unclear: break
    case .directory: return end(.isNoFile)
    // Another file of the same content may have the same tag.
    case .unchanged where target.version?.mayEqual(entityTag: part?.tag) == true:
      return look(.left)
    // Another run has published since.
    case .length where publication.publishesOnce: return compare()
    case .length, .gone, .unchanged: return giveUpMoving(.isNotThere)
    }
    return [.deleteRecord] + finish(.completed)
  }

  /// Nothing tells the file from the one that it replaces. It has been moved if the temporary name,
  /// which was there, is gone.
  private mutating func foundLeft(_ finding: DAVFinding) -> [UploadCommand] {
    guard finding == .gone, part?.isVisible == true else { return giveUpMoving(.isNotThere) }
    return [.deleteRecord] + finish(.completed)
  }
}

extension TransferError {
  fileprivate static let isNotThere = TransferError(
    .protocolViolation, "the server says that it moved the file, but its name does not have it")
  fileprivate static let unknownState = TransferError(
    .httpStatus, "the server does not say what it has", isRetryable: true)
}
