/// How PUT replaces only what was there before the first byte of the source was read.
extension PutMachine {
  var asksFirst: Bool {
    switch request.precondition {
    case .absent: true
    case .entityTag: false
    case .none: publication.isUnasked
    }
  }

  /// Takes the condition from the answer to HEAD. A page for browsers is no file.
  mutating func learn(_ head: ResponseHead) {
    guard publication.isUnasked else { return }
    let isKnown = head.status >= 300 || StoredLength.head(head, of: request) != nil
    publication.keep(isKnown ? UploadCondition(head) : nil)
  }

  /// What the server must have. With `skip`, never a file, whatever it says.
  var beginning: UploadCondition? {
    publication.beginning ?? (request.ifExists == .skip ? .absent : nil)
  }

  /// The fields of the request that stores the file.
  var conditions: [(String, String)] {
    guard request.precondition == .none, !isConditionRefused else { return request.condition }
    return beginning.map { [$0.field] } ?? []
  }

  /// Whether the answer to the file may be about the condition that it was sent with.
  func mayRefuseCondition(_ status: Int) -> Bool {
    guard case .sending = state else { return false }
    return [400, 405, 422, 501].contains(status) && !conditions.isEmpty
  }

  /// The server may not know conditions. That of the user is kept. Without that of the run, the
  /// server is asked just before the file is sent.
  mutating func conditionRefused(_ error: TransferError, at url: ResourceURL) -> [UploadCommand] {
    let refusal = error.suspecting(conditions[0].0)
    guard request.precondition == .none, !attempts.isSpent else { return failed(refusal) }
    isConditionRefused = true
    return [.reportRefusal(refusal.advising("the upload goes on without it"))] + look(at: url)
  }

  /// Asks what the server has there now.
  mutating func look(at url: ResourceURL) -> [UploadCommand] {
    state = .looking(url)
    return [.send(.compare(url, of: request))]
  }

  mutating func looked(
    _ head: ResponseHead, at url: ResourceURL, _ judge: UploadJudge
  ) -> [UploadCommand] {
    if beginning?.holds(for: head) == true {
      if isConditionRefused { return send(to: url) }
      guard request.precondition == .none, isContradicted, !attempts.isSpent else {
        isContradicted = true
        return failed(.refusedCondition)
      }
      // Some servers take every condition for one that does not hold.
      isConditionRefused = true
      let refusal = TransferError.refusedCondition.advising("the upload goes on without it")
      return [.reportRefusal(refusal)] + send(to: url)
    }
    guard (200..<300).contains(head.status) else {
      let error = judge.failure(of: head, to: request).ofQuestion
      return error.isRetryable ? failed(error) : end(replaced(isProved: false))
    }
    let content = StoredContent(head, of: request)
    if request.ifExists == .skip, let commands = keepUnlessOwn(content) { return commands }
    state = .digesting(content)
    return digest(for: content) ?? compared(content, with: [])
  }
}
