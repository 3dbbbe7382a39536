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

/// What the server has: HEAD is first, and PROPFIND says what that did not.
extension DAVMachine {
  func finding(
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
