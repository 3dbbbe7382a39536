/// Failed fetches: which count as attempts, which lower a limit, which end the transfer.
extension DownloadMachine {
  /// Handles an error response.
  mutating func refused(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan,
    at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    switch head.status {
    case 429, 503:
      if fetches.count > 1 { return learnLimit(id, error, plan: &plan) }
      if hostServesOthers, goal == .transfer { return makeWay(id, error, plan: &plan) }
      return failed(id, error, plan: &plan, at: now, using: &rng)
    case 401, 403, 404, 410:
      return denied(id, error, from: head, plan: &plan, at: now, using: &rng)
    default: return failed(id, error, plan: &plan, at: now, using: &rng)
    }
  }

  /// The server serves no more connections than those open: no attempt is counted, they continue.
  mutating func learnLimit(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    cap = max(1, fetches.count)
    return limit(error) + openMore(&plan)
  }

  /// The host serves other transfers but not this one: it waits for its turn, and no attempt is
  /// counted. The host's limit is lowered each time, so that this ends.
  private mutating func makeWay(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    isWaitingToRetry = true
    return limit(error) + forgetUnresumable(&plan)
      + [.wake(.retry, after: error.retryAfter ?? .milliseconds(500))] + giveBackConnection()
  }

  private func limit(_ error: TransferError) -> [Command] {
    [.limitHost(error)] + (error.retryAfter.map { [.pauseHost($0)] } ?? [])
  }

  mutating func failed(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    guard let fetch = fetches[id] else { return [] }
    if plan.isComplete || (goal != .transfer && goal != .confirm) {
      return stopped(id, plan: &plan, at: now, using: &rng)
    }
    if fetch.isLaidOff, error.isRetryable { return stopped(id, plan: &plan, at: now, using: &rng) }
    if let commands = leaveFormer(id, plan) { return commands }
    if error.cause == .noNetwork { return disconnected(id, error, plan: &plan) }
    let isTurnedAway = fetch.body == nil && [.connectionLost, .connect].contains(error.code)
    // If it has served that many before, and no limit is known, the number is not too high: this
    // was an accident.
    let isTooMany = fetches.count > max(borne, 1) || cap < rules.connections
    if fetches.count > 1, deliveredWave == wave, isTooMany, isTurnedAway {
      return learnLimit(id, error, plan: &plan)
    }
    guard error.isRetryable else { return fail(id, error, plan: &plan) }
    let isCheap = resumesAtOnce(id, error, plan)
    let isSilence = isSilence(error, fetch)
    _ = close(id)
    plan.release(id)
    if isCheap { return [.resume(error)] + openMore(&plan) }
    goal = .transfer
    confirming = nil
    // Another failure of its wave was counted; but if nothing else will continue, this one must.
    if fetch.wave != wave, isWaitingToRetry || !fetches.isEmpty { return giveBackConnection() }
    if let loss = lossOfStream(error, plan) { return stopAll(for: .fail(loss), plan: &plan) }
    wave += 1
    if isSilence, host.isOthersTurn { return waitForHost(&plan) }
    return countAttempt(error, isSilence: isSilence, plan: &plan, at: now, using: &rng)
  }

  /// Whether the host did not answer the only request of the transfer at all.
  private func isSilence(_ error: TransferError, _ fetch: Fetch) -> Bool {
    let codes: [TransferError.Code] = [.dns, .connect, .proxy, .timeout, .stalled, .connectionLost]
    return fetch.body == nil && fetches.count == 1 && codes.contains(error.code)
      && !error.isOfRedirect && fetch.request.url.origin == rules.url.origin
  }

  /// Another transfer found that the host does not answer: this one waits for its turn, and no
  /// attempt is counted.
  private mutating func waitForHost(_ plan: inout SegmentPlan) -> [Command] {
    forgetUnresumable(&plan) + giveBackConnection() + (fetches.isEmpty ? [.enterSlot] : [])
  }

  /// Nothing can be reached: no attempt is counted, and the host is not blamed. Open connections
  /// may survive; without any, the transfer ends.
  private mutating func disconnected(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    guard fetches.count > 1 else { return fail(id, error, plan: &plan) }
    _ = close(id)
    plan.release(id)
    return giveBackConnection()
  }

  /// Whether the segment of a lost connection resumes at once, without counting an attempt: while
  /// other connections deliver, the server is well, and one request for this many bytes is no
  /// burden.
  private func resumesAtOnce(_ id: SegmentID, _ error: TransferError, _ plan: SegmentPlan) -> Bool {
    guard goal == .transfer, let fetch = fetches[id], fetch.body != nil,
      [.connectionLost, .stalled].contains(error.code), error.retryAfter == nil, mayResume,
      let position = plan.segments[id]?.written,
      position - fetch.start >= RetryPolicy.progressThatCounts
    else { return false }
    return fetches.contains { $0.key != id && $0.value.hasDelivered && !$0.value.isLaidOff }
  }

  private mutating func countAttempt(
    _ error: TransferError, isSilence: Bool, plan: inout SegmentPlan, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    let received = plan.receivedCount
    var failure = RetryState.Failure(
      error, silentHost: isSilence ? host : nil, hasAnswered: hasAnswered,
      isAttended: rules.isAttended)
    // Bytes that must be fetched again are no progress, or they would be fetched for ever.
    failure.progressed = mayResume ? received - receivedAtLastFailure : 0
    failure.remaining = plan.length.map { $0 - receivedAtLastFailure } ?? .max
    let decision = retry.failed(failure, at: now, using: &rng)
    receivedAtLastFailure = max(receivedAtLastFailure, received)
    switch decision {
    case .giveUp:
      let pause = rules.isAttended ? nil : RetryPolicy.ceiling(ofAttempt: host.failures + 1)
      return (isSilence ? [.hostFailed(askAgain: pause)] : [])
        + stopAll(for: .fail(error.after(attempts: retry.attempts + 1)), plan: &plan)
    case .retry(let delay, let attempt):
      isWaitingToRetry = true
      let pauses =
        (error.retryAfter.map { [Command.pauseHost($0)] } ?? [])
        + (isSilence ? [.hostFailed(askAgain: delay)] : [])
      // Who moves a manual clock when told of the attempt finds the timer set.
      return pauses + forgetUnresumable(&plan)
        + [.wake(.retry, after: delay), .attempt(attempt, error, delay: delay)]
        + giveBackConnection()
    }
  }

  /// Forgets a version that has no byte on disk yet, or that nothing proves to be the version of
  /// the next answer.
  mutating func forgetUnresumable(_ plan: inout SegmentPlan) -> [Command] {
    guard version != nil, pending == nil, fetches.isEmpty, !hasBegun || !mayResume else {
      return []
    }
    let loss = TransferError(.connectionLost, "the server sent less than the whole file")
    if let loss = lossOfStream(loss, plan) { return stopAll(for: .fail(loss), plan: &plan) }
    let isLoss = plan.receivedCount > 0
    version = nil
    isUnproved = false
    hasBegun = false
    isTransferring = false
    cap = 1
    tuner.handle(.lost, at: now)
    plan.startOver(length: nil)
    let reason = "the connection broke, and the server sends no strong validator to resume with"
    return isLoss ? [.phase(.restarted, reason: reason)] : []
  }

  /// Why a stream ends here: its reader has bytes, and nothing proves that the next answer is of
  /// the same version.
  private func lossOfStream(_ error: TransferError, _ plan: SegmentPlan) -> TransferError? {
    guard plan.isCommitted, !mayResume else { return nil }
    let reason = error.message.prefix { $0 != ";" }
    return TransferError(
      error.code,
      "\(reason); bytes were already written out and cannot be resumed, use a file",
      status: error.status)
  }

  static func changedInStream(_ reason: String) -> TransferError {
    TransferError(
      .changedOnServer,
      "\(reason), after bytes were written out; the output is the beginning of the older version")
  }

  private mutating func fail(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    return stopAll(for: .fail(error), plan: &plan)
  }
}

extension TransferError {
  fileprivate func after(attempts: Int) -> TransferError {
    guard attempts > 1 else { return self }
    // The advice comes last in a message.
    let reason = message.prefix { $0 != ";" }
    return TransferError(
      code, "\(reason) after \(attempts) attempts\(message[reason.endIndex...])", status: status,
      isRetryable: isRetryable,
      retryAfter: retryAfter, cause: cause)
  }
}
