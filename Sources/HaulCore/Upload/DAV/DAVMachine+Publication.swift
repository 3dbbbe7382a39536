/// What an upload to a WebDAV server knows of the file that it would replace. Several runs of the
/// transfer of a remote source may publish at the same time, on any machine: no older version may
/// replace a newer one.
struct DAVPublication: Sendable {
  /// What had the name of the file before the first byte of the source was read.
  enum Beginning: Sendable, Hashable {
    case absent
    case file(StoredVersion)
  }

  /// Whether there may be such runs. A file of this machine is no transfer of another one.
  let publishesOnce: Bool
  /// Whether the server was not asked yet.
  private(set) var isUnasked: Bool
  /// Nil if the server does not say it.
  private(set) var beginning: Beginning?
  /// Whether the first bytes of the source were read.
  var isRead: Bool
  /// Whether the server did not answer what it has, last.
  var hasAskedInVain = false

  init(_ request: UploadRequest) {
    publishesOnce = request.download != nil
    (isUnasked, isRead) = (publishesOnce, !publishesOnce)
  }

  /// The server was asked; its answer stays for each attempt.
  mutating func keep(_ beginning: Beginning?) {
    if publishesOnce { (isUnasked, self.beginning) = (false, beginning) }
  }

  /// Whether what has the name now is not what had it at the beginning.
  /// - Parameter version: nil if it is not known.
  func isReplaced(by version: StoredVersion?) -> Bool {
    switch beginning {
    case nil: false
    case .absent: true
    case .file(let known): version != known
    }
  }

  /// For a file that is sent to its own name.
  var condition: UploadCondition? {
    switch beginning {
    case nil: nil
    case .absent: .absent
    case .file(let version):
      version.entityTag.flatMap { tag in
        EntityTag(tag)?.isWeak == false ? UploadCondition(rawValue: tag) : nil
      }
    }
  }
}

extension DAVMachine {
  /// Whether what has the name is not replaced without a look.
  var mayBeReplaced: Bool { request.precondition == .none || publication.beginning == .absent }

  /// Handles what has the name of the file before its first byte is read.
  mutating func firstAnswered(
    _ answer: UploadAnswer, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let status = answer.head.status
    switch StoredLength.isCollection(answer) {
    case true?: return end(.isNoFile)
    case false? where request.precondition == .absent: return end(conflict(412))
    case false?: publication.keep(.file(StoredVersion(answer)))
    case nil where status == 404 || status == 410: publication.keep(.absent)
    case nil:
      var error = judge.failure(of: answer.head, to: request)
      if status != 501 { error = error.ofQuestion }
      if error.isRetryable { return failed(error) }
      publication.keep(nil)
      // Servers without PROPFIND answer HEAD.
      return ask()
    }
    return makeDirectory()
  }

  /// Some servers do not answer PROPFIND at all. Once more; then HEAD is tried.
  mutating func askedInVain(_ error: TransferError) -> [UploadCommand] {
    guard publication.hasAskedInVain, error.leavesQuestionOpen else {
      publication.hasAskedInVain = error.leavesQuestionOpen
      return failed(error)
    }
    publication.keep(nil)
    return ask()
  }

  /// Another file has the name than at the beginning: whether it is what this run would store.
  mutating func compare() -> [UploadCommand] {
    // Another attempt looks again.
    (state, target) = (.comparing, .unasked)
    return [.send(.compare(addresses.target, of: request))]
  }

  /// What has the name is known as far as the server tells it.
  mutating func compared(_ answer: UploadAnswer, _ judge: UploadJudge) -> [UploadCommand] {
    let head = answer.head
    guard (200..<300).contains(head.status) else {
      if head.status == 404 || head.status == 410 { return failed(.refusedCondition) }
      let error = judge.failure(of: head, to: request).ofQuestion
      return error.isRetryable ? failed(error) : end(replaced(isProved: false))
    }
    let content = StoredContent(head, of: request)
    state = .comparingFile(content)
    // A file that is held as a whole can be read again; the server may state digests of both.
    if let length, !isStream, !attempts.isSpent, !content.algorithms.isEmpty {
      return [.digest(0..<length, part: 0, content.algorithms)]
    }
    guard let part, !content.digests.isEmpty else { return compared(content, with: []) }
    return [.send(.compare(part.url, of: request))]
  }

  /// Takes what has the name as the result, if it is proved to be what this run would have stored.
  mutating func compared(
    _ content: StoredContent, with digests: [Checksum]
  ) -> [UploadCommand] {
    let own = digests + (request.download?.checksums ?? [])
    switch content.isEqual(to: own, length: length) {
    case true?:
      return [.reportAdoption(length: content.length ?? length)] + end(.completed)
    case false?: return end(replaced(isProved: true))
    case nil: return end(replaced(isProved: false))
    }
  }

  private func replaced(isProved: Bool) -> TransferError {
    guard request.precondition == .none else { return conflict(412) }
    return isProved ? .isReplaced : .isPerhapsReplaced
  }
}

extension TransferError {
  static let isNoFile = TransferError(
    .nameConflict, "something has that name there that is not known to be a file",
    advice: "add the name of the file to the address, or delete what is there", status: 412)
}
