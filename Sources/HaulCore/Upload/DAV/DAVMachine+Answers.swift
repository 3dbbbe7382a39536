/// Why it is asked what has the name of the file.
enum DAVTargetLook: Sendable, Hashable { case first, beforeMove, refused, refusedByHead }

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
      return (isSuccess ? existing(byHead: answer) : nil) ?? makeDirectory()
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
    case _ where error.isRetryable || [.unauthorized, .notTried, .proxy].contains(error.code):
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
    case _ where error.isRetryable || [.unauthorized, .notTried, .proxy].contains(error.code):
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
    case false where request.ifExists == .skip:
      return keepUnlessOwn(PresentFile(length: StoredLength.property(answer)))
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
      return error.isRetryable || [.unauthorized, .notTried, .proxy].contains(error.code)
        ? failed(error) : lookAtTarget(.refusedByHead)
    }
    guard isFile else { return end(.isNoFile) }
    if request.ifExists == .skip {
      return keepUnlessOwn(PresentFile(length: byHead ? nil : StoredLength.property(answer)))
    }
    if publication.isReplaced(by: byHead ? nil : StoredVersion(answer)) { return compare() }
    target = .file(nil)
    return mayHaveMoved ? look() : move()
  }
}
