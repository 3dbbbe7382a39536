/// Handles links that expire: a redirect's address is valid only for a while.
extension DownloadMachine {
  /// Handles 401, 403, 404 and 410: an expired link, a connection limit (403), or a final refusal.
  ///
  /// A fetch from a redirected address asks the original address again. Only the answer to a fresh
  /// link counts.
  mutating func denied(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan,
    at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    if let commands = returnToOriginalAddress(id, plan) { return commands }
    if let used = fetches[id]?.request.url, used != rules.url {
      // Another fetch may have found a fresh link meanwhile.
      if resolved == used { resolved = nil }
      hasResolvedAgain = true
      return [open(id, plan)]
    }
    if fetches.count > 1 {
      return deniedAdditional(id, error, from: head, plan: &plan)
    }
    // Without bytes, a new link has nothing to resume.
    guard plan.receivedCount > 0 else {
      return failed(id, error, plan: &plan, at: now, using: &rng)
    }
    if head.wasRedirected, !hasResolvedAgain {
      hasResolvedAgain = true
      return [open(id, plan)]
    }
    let isLink = head.wasRedirected || hasResolvedAgain || [403, 410].contains(head.status)
    let last = isLink ? Self.expired(head.status) : error
    return failed(id, last, plan: &plan, at: now, using: &rng)
  }

  /// While another connection works, 403 means a limit of connections. If none has an answer yet,
  /// the last answer decides.
  private mutating func deniedAdditional(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan
  ) -> [Command] {
    let another = fetches.contains { $0.key != id && $0.value.body != nil }
    if another, head.status == 403 { return learnLimit(id, error, plan: &plan) }
    _ = close(id)
    plan.release(id)
    if another { maximumConnections = max(1, fetches.count) }
    return releaseFailedConnection()
  }

  private static func expired(_ status: Int) -> TransferError {
    TransferError(
      .needsNewURL,
      "the link has expired (\(status)); get a new one",
      status: status
    ).remedied(by: .newAddress)
  }
}
