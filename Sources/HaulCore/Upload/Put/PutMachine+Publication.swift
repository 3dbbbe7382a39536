/// What an upload with PUT knows of the file that it would replace. Several runs of the transfer of
/// a remote source may publish at the same time, on any machine: no older version may replace a
/// newer one.
struct PutPublication: Sendable {
  /// Whether there may be such runs. A file of this machine is no transfer of another one.
  private(set) var publishesOnce = false
  /// What the server must have; nil if it does not say what it has, or refuses conditions.
  private(set) var condition: UploadCondition?
  /// Whether that is known, or will not be.
  private(set) var isConditionKnown = false
  /// Whether the server has refused a request with the condition.
  var isRefused = false
  /// Whether it has said that the condition does not hold, although it does.
  var isContradicted = false
  /// Whether the first bytes of the source were read: after the server was asked.
  var isRead = true
  /// Whether the server did not answer what it has, last.
  var hasAskedInVain = false

  init() {}

  /// The server is asked before the first byte is read.
  mutating func ask() { (publishesOnce, isRead) = (true, false) }

  /// The server was asked; its answer stays for each attempt.
  mutating func keep(_ condition: UploadCondition?) {
    (publishesOnce, self.condition, isConditionKnown) = (true, condition, true)
  }

  /// Takes the condition from the answer to HEAD. A page for browsers is no file.
  mutating func learn(_ head: ResponseHead, of request: UploadRequest) {
    guard publishesOnce, !isConditionKnown else { return }
    let isKnown = head.status >= 300 || StoredLength.head(head, of: request) != nil
    keep(isKnown ? UploadCondition(head) : nil)
  }
}

extension PutMachine {
  /// Other runs of the transfer may publish too: the server is asked before the first byte is read.
  mutating func askBeforeReading() { publication.ask() }

  var asksFirst: Bool {
    switch request.precondition {
    case .absent: true
    case .entityTag: false
    case .none: publication.publishesOnce && !publication.isConditionKnown
    }
  }

  /// The fields of the request that stores the file.
  var conditions: [(String, String)] {
    guard request.precondition == .none, !publication.isRefused else { return request.condition }
    return publication.condition.map { [$0.field] } ?? []
  }

  /// Some servers do not answer HEAD at all. Once more; then the file is sent without a condition.
  mutating func askedInVain(_ error: TransferError) -> [UploadCommand] {
    guard publication.publishesOnce, request.precondition == .none, publication.hasAskedInVain,
      error.leavesQuestionOpen
    else {
      publication.hasAskedInVain = error.leavesQuestionOpen
      return failed(error)
    }
    publication.keep(nil)
    return proceed()
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
    publication.isRefused = true
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
    if publication.condition?.holds(for: head) == true {
      if publication.isRefused { return send(to: url) }
      guard request.precondition == .none, publication.isContradicted, !attempts.isSpent else {
        publication.isContradicted = true
        return failed(.refusedCondition)
      }
      // Some servers take every condition for one that does not hold.
      publication.isRefused = true
      let refusal = TransferError.refusedCondition.advising("the upload goes on without it")
      return [.reportRefusal(refusal)] + send(to: url)
    }
    guard (200..<300).contains(head.status) else {
      let error = judge.failure(of: head, to: request).ofQuestion
      return error.isRetryable ? failed(error) : end(conflict(isProved: false))
    }
    let content = StoredContent(head, of: request)
    // Only a file that is held as a whole can be read again.
    guard let length, !isStream, !attempts.isSpent, !content.algorithms.isEmpty else {
      return compared(content, with: [])
    }
    state = .digesting(content)
    return [.digest(0..<length, part: 0, content.algorithms)]
  }

  /// Takes what is there as the result, if it is proved to be what this run would have stored.
  /// - Parameter digests: of the bytes of this run.
  mutating func compared(
    _ content: StoredContent, with digests: [Checksum]
  ) -> [UploadCommand] {
    let own = digests + (request.download?.checksums ?? [])
    switch content.isEqual(to: own, length: length) {
    case true? where attempts.mayHaveArrived: return finish(.completed)
    case true?: return [.reportAdoption(length: content.length ?? length)] + finish(.completed)
    case false?: return end(conflict(isProved: true))
    case nil: return end(conflict(isProved: false))
    }
  }

  private func conflict(isProved: Bool) -> TransferError {
    if request.precondition == .absent || attempts.mayHaveArrived && !isProved {
      return attempts.conflict(status: 412)
    }
    return isProved ? .isReplaced : .isPerhapsReplaced
  }
}
