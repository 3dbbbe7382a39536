/// What had the name of the file before the first byte of the source was read.
enum DAVBeginning: Sendable, Hashable {
  case absent
  case file(StoredVersion)
}

extension Publication<DAVBeginning> {
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
    case false?:
      let version = StoredVersion(answer)
      publication.keep(.file(version))
      let file = PresentFile(length: version.length)
      if let commands = existing(file, modified: version.modified, in: answer) { return commands }
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
    if let digest = digest(for: content) { return digest }
    // The server may state digests of both.
    guard let part, !content.digests.isEmpty else { return compared(content, with: []) }
    return [.send(.compare(part.url, of: request))]
  }
}

extension TransferError {
  static let isNoFile = TransferError(
    .nameConflict, "something has that name there that is not known to be a file",
    advice: "add the name of the file to the address, or delete what is there", status: 412)
}
