/// Several runs of a transfer may publish at the same time, on any machine. The first whole object
/// stays, and the other runs adopt it.
extension S3Machine {
  /// Whether the object may be made only if the store has what it had at the beginning. A file of
  /// this machine is no transfer that another machine runs too, unless it depends on that.
  private var publishesOnce: Bool { source.remote != nil || request.asksForExisting }

  /// Asks which object there is.
  var question: UploadMessage {
    request.ifExists == .update ? messages.headWithChecksums : messages.head
  }

  /// Whether the store is asked what it has before the first byte.
  var asksFirst: Bool {
    switch request.precondition {
    case .absent: true
    case .entityTag: false
    case .none: publishesOnce && !isConditionKnown
    }
  }

  /// What the store has before the first byte. The condition stays the same in each attempt: bytes
  /// that were read before it was taken may be of an older version than the object.
  mutating func asked(_ answer: UploadAnswer) -> [UploadCommand] {
    let head = answer.head
    let isThere = (200..<300).contains(head.status)
    if isThere, request.precondition == .absent {
      if isOwn(head) { return finish(.completed) }
      return isOfOtherRun(head) ? judge(head, nil) : end(attempts.conflict(status: 412))
    }
    if isThere, isUpToDate(head) { return adopt(head) }
    // An endpoint that is no store may have a page for everything.
    if isThere, request.ifExists == .skip, head.headers["ETag"] != nil,
      !StoredLength.isPage(head, of: request)
    {
      return keep(PresentFile(length: head.objectLength))
    }
    // The answer to HEAD has no code, so it does not say that the clock is wrong.
    if publishesOnce, head.status == 403, !hasSetClock, messages.setClock(by: answer) {
      hasSetClock = true
      return [.send(question)]
    }
    // 403: the key may not look. The store checks the condition itself.
    if !isThere, ![404, 403, 405, 501].contains(head.status) {
      let error = self.error(of: answer).ofQuestion
      guard request.precondition == .none, !error.isRetryable else { return failed(error) }
    }
    if publishesOnce, !isConditionKnown {
      noteCondition(UploadCondition(head))
    }
    guard !requiresCondition || messages.condition != nil || request.precondition != .none else {
      return fail(
        .refused,
        "the store does not say which object it has (it answered \(head.status) to HEAD)",
        advice: "of two runs, a later one could replace a newer object; let the key read it")
    }
    return (isThere && request.ifExists == .update ? compareExisting(head) : nil) ?? open()
  }

  /// With `skip` there must be no object, whatever the store says of it.
  private mutating func noteCondition(_ condition: UploadCondition?) {
    (messages.condition, isConditionKnown) = (request.ifExists == .skip ? .absent : condition, true)
  }

  /// The store does not say in time what it has: some read the whole object to answer. Once more,
  /// as this machine may have been stopped; then the upload goes on without a condition.
  mutating func askedInVain(_ error: TransferError) -> [UploadCommand] {
    guard error.code == .stalled, request.precondition == .none, hasAskedInVain,
      !requiresCondition
    else {
      hasAskedInVain = error.code == .stalled
      return failed(error)
    }
    noteCondition(nil)
    return open()
  }

  /// Makes the object of the parts. Not every store obeys conditions then, so what there is is
  /// asked for just before.
  mutating func publish() -> [UploadCommand] {
    messages.condition == nil
      ? complete() : confirm(.publication(isConditional: !messages.refusesConditions))
  }

  /// Whether the small object was sent so long after the store was asked that another run may have
  /// published a newer one, which a store that ignores conditions has replaced.
  var isLate: Bool {
    guard isSingle, source.remote != nil, messages.condition != nil, let askedAt else {
      return false
    }
    return attempts.now - askedAt > .seconds(5)
  }

  /// The object is made. If that was late, the source says whether it is the present version.
  mutating func taken() -> [UploadCommand] {
    guard isLate else { return [.deleteRecord] + finish(.completed) }
    state = .lookingBack
    return [.checkVersion]
  }

  /// The store has another object than the small one that it took: it ignores conditions.
  mutating func replaced(_ head: ResponseHead) -> [UploadCommand] {
    isOfOtherRun(head) ? judge(head, nil) : end(conflict)
  }

  /// Why the object was not made, if it may be there.
  func doubt(after failure: S3Failure) -> S3Doubt? {
    if messages.condition != nil {
      if failure.isConflict { return .conflict(failure.error(request)) }
      if failure.isUnmet || failure.lacksObject { return .unmet(conflict) }
    }
    let isConditional = messages.condition != nil || request.precondition != .none
    if isConditional, failure.isUnclear(for: request) {
      return .refused(failure.refusedPromise(request))
    }
    guard failure.isUnmet else { return nil }
    if request.precondition == .absent { return .unmet(conflict) }
    return isSingle && !attempts.mayHaveArrived ? nil : .unmet(failure.error(request))
  }

  /// The store may refuse the condition. That of the user is kept. Without that of the run, the
  /// store is asked just before the object is made.
  /// - Returns: nil if it refuses something else.
  mutating func conditionRefused(_ answer: UploadAnswer) -> [UploadCommand]? {
    if !requiresCondition, let report = messages.dropCondition(after: answer) {
      return [report] + publish()
    }
    let failure = S3Failure(answer)
    guard request.precondition != .none || requiresCondition, failure.mayRefuseConditions else {
      return nil
    }
    let error = failure.refusedPromise(request)
    // Without a code, a gateway may have answered: the parts are kept.
    return failure.code == nil ? end(error) : stop(error)
  }

  /// The object that has the name is not that of the condition.
  private var conflict: TransferError {
    request.precondition == .absent ? attempts.conflict(status: 412) : .isReplaced
  }

  /// Asks which object the store has.
  mutating func confirm(_ doubt: S3Doubt) -> [UploadCommand] {
    var message = messages.head
    (message.isOptional, state) = (doubt.isOptional, .confirming(doubt))
    return [.send(message)]
  }

  mutating func confirmed(_ answer: UploadAnswer, _ doubt: S3Doubt) -> [UploadCommand] {
    let head = answer.head
    switch head.status {
    case 200..<300 where isOwn(head):
      return [.deleteRecord, .reportAcknowledged(parts.length)] + finish(.completed)
    case 200..<300 where request.ifExists == .skip:
      return keep(PresentFile(length: head.objectLength))
    case 200..<300 where isOfOtherRun(head): return judge(head, doubt)
    case 200..<300, 404, 403: return conclude(doubt, holds: messages.condition?.holds(for: head))
    default:
      return doubt.isOptional
        ? conclude(doubt, holds: nil) : failed(error(of: answer).ofQuestion)
    }
  }

  /// Goes on without an object of this upload, or of another run since it began.
  /// - Parameter holds: whether the condition does; nil if there is none, or it is not known.
  mutating func conclude(_ doubt: S3Doubt, holds: Bool?) -> [UploadCommand] {
    switch (doubt, holds) {
    // It may have answered HEAD by an older state.
    case (.unmet, true?) where request.precondition == .none: failed(.refusedCondition)
    // The store has said that there is one.
    case (.unmet, nil) where request.ifExists == .skip: keep(PresentFile(length: nil))
    case (.publication(isConditional: false), nil) where request.ifExists == .skip:
      stop(.unknownObject)
    case (.unmet(let error), _), (.source(let error), _): stop(error)
    case (_, false?): stop(conflict)
    case (.refused(let error), _): stop(error)
    case (.gone(let error), _): startOver(error)
    case (.conflict(let error), _): record == nil ? failed(error) : replaceUpload(error)
    case (.publication, _): isSingle ? fill() : complete()
    }
  }

  /// Fails for good, and leaves no parts on the store.
  mutating func stop(_ error: TransferError) -> [UploadCommand] {
    record == nil ? end(error) : abort(then: .failed(error))
  }

  /// Whether the object that HEAD found was made by this upload. A store may have dropped the mark
  /// of an object whose answer was lost; then the digest of its bytes tells.
  private func isOwn(_ head: ResponseHead) -> Bool {
    guard ContentLength(head.headers) == .bytes(parts.length) else { return false }
    if let found = head.headers[S3Messages.markField] { return found == mark }
    // With `update`, that is also the file that was to be there.
    guard attempts.mayHaveArrived || request.ifExists == .update && isSingle,
      let tag = head.headers["ETag"]
    else { return false }
    guard isSingle else { return parts.make(S3Digest.bare(tag)) }
    return messages.proof.sent.values.contains { $0.digest.matches(tag) }
  }

  /// Whether an earlier run of the transfer has published this very version, with the same fields.
  /// A digest of the user is compared with bytes that were read.
  private func isUpToDate(_ head: ResponseHead) -> Bool {
    guard publishesOnce, let transfer = messages.transfer, let version = messages.version,
      let download = request.download, download.ifExists != .overwrite, download.checksums.isEmpty
    else { return false }
    return head.headers[S3Messages.transferField] == transfer
      && head.headers[S3Messages.versionField] == version
      && ContentLength(head.headers) == .bytes(parts.length) && messages.describes(head)
  }

  /// Whether another run of the transfer has published that object since this one began.
  private func isOfOtherRun(_ head: ResponseHead) -> Bool {
    guard let transfer = messages.transfer, let condition = messages.condition else { return false }
    return condition.holds(for: head) == false
      && head.headers[S3Messages.transferField] == transfer
  }

  /// Takes the object of another run, unless it may be of an older version than this one's: then
  /// the source says which is the present one.
  private mutating func judge(_ head: ResponseHead, _ doubt: S3Doubt?) -> [UploadCommand] {
    if head.headers[S3Messages.versionField] == messages.version { return adopt(head) }
    if case .source(let error)? = doubt { return adopt(head, unless: error) }
    state = .comparingVersions(head)
    return [.checkVersion]
  }

  /// The source has said whether this run has its present version.
  /// - Parameter error: nil if it has.
  mutating func compared(_ head: ResponseHead, _ error: TransferError?) -> [UploadCommand] {
    guard let error else {
      // The object is of an older version. What replaces that one now is asked for.
      guard request.precondition == .none, let condition = UploadCondition(head) else {
        return stop(conflict)
      }
      messages.condition = condition
      guard record == nil else { return publish() }
      parts.reset()
      return fill()
    }
    return error.code == .sourceChanged ? adopt(head, unless: error) : failed(error)
  }

  /// This run's version is not the source's any more: the object is the result, unless the user
  /// gave a digest, which cannot be compared with it.
  private mutating func adopt(
    _ head: ResponseHead, unless error: TransferError
  ) -> [UploadCommand] {
    request.download?.checksums.isEmpty == false ? stop(error) : adopt(head)
  }

  /// Takes the object of another run as the result of this one.
  private mutating func adopt(_ head: ResponseHead) -> [UploadCommand] {
    [.reportAdoption(length: head.objectLength)]
      + (record == nil ? finish(.completed) : abort(then: .completed))
  }
}

extension ResponseHead {
  /// In bytes; nil if the answer to HEAD does not say it.
  fileprivate var objectLength: Int64? {
    if case .bytes(let length) = ContentLength(headers) { length } else { nil }
  }
}

extension TransferError {
  fileprivate static let unknownObject = TransferError(
    .refused, "the store takes no condition, and does not say whether it has the object",
    advice: "let the key read it, or replace what is there")
  static let lostParts = TransferError(
    .notFound, "the server no longer has the parts of the file", status: 404)
}
