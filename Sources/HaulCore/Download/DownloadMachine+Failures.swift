/// Failed fetches: which count, which teach, which end the transfer.
extension DownloadMachine {
  /// An answer that is an error.
  mutating func refused(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan,
    at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    let isAdditional = fetches.count > 1
    if isAdditional, [403, 429, 503].contains(head.status) {
      return learnLimit(id, error, plan: &plan)
    }
    let mayHaveExpired = [401, 403, 410].contains(head.status) && (head.wasRedirected || resolved != nil)
    if mayHaveExpired {
      guard !hasResolvedAgain else {
        return fail(
          id,
          TransferError(
            .needsNewURL, "the link has expired (\(head.status)); get a new one and use the same -o",
            status: head.status), plan: &plan)
      }
      hasResolvedAgain = true
      resolved = nil
      return [open(id, plan)]
    }
    return failed(id, error, plan: &plan, at: now, using: &rng)
  }

  /// The server serves no more connections than those alive: no attempt is counted, they go on.
  private mutating func learnLimit(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    cap = max(1, fetches.count)
    let pause = error.retryAfter.map { [Command.pauseHost($0)] } ?? []
    return [.limitHost(alive: cap)] + pause + openMore(&plan)
  }

  mutating func failed(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    guard let fetch = fetches[id] else { return [] }
    if plan.isComplete || (goal != .transfer && goal != .confirm) {
      return stopped(id, plan: &plan, at: now, using: &rng)
    }
    let isTurnedAway = fetch.body == nil && [.connectionLost, .connect].contains(error.code)
    if fetches.count > 1, isTurnedAway, fetches.values.contains(where: { $0.hasDelivered }) {
      return learnLimit(id, error, plan: &plan)
    }
    guard error.isRetryable else { return fail(id, error, plan: &plan) }
    _ = close(id)
    plan.release(id)
    goal = .transfer
    // The last one of an older wave, with no retry under way, has nobody to go on for it.
    let isCovered = isWaitingToRetry || !fetches.isEmpty
    guard fetch.wave == wave || !isCovered else { return giveBackConnection() }
    return countAttempt(error, plan: &plan, at: now, using: &rng)
  }

  private mutating func countAttempt(
    _ error: TransferError, plan: inout SegmentPlan, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    wave += 1
    let received = plan.receivedCount
    let rest = plan.length.map { $0 - receivedAtLastFailure } ?? .max
    let decision = retry.failed(
      error, hasAnswered: hasAnswered, at: now, progressed: received - receivedAtLastFailure,
      remaining: rest, using: &rng)
    receivedAtLastFailure = received
    if received > 0 { hasResolvedAgain = false }
    switch decision {
    case .giveUp:
      return stopAll(for: .fail(error.after(attempts: retry.attempts)), plan: &plan)
    case .retry(let delay, let attempt):
      isWaitingToRetry = true
      let pause = error.retryAfter.map { [Command.pauseHost($0)] } ?? []
      return pause
        + [.attempt(attempt, error, delay: delay), .wake(.retry, after: delay)]
        + giveBackConnection()
    }
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
    return TransferError(
      code, "\(message) (after \(attempts) attempts)", status: status, isRetryable: isRetryable,
      retryAfter: retryAfter)
  }
}
