/// Handles links that expire: a redirect's address is valid only for a while.
extension DownloadMachine {
  /// Handles 401, 403, 404 and 410: an expired link, a connection limit, or a final refusal.
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
      return head.status == 403 && isBesideWorking(id)
        ? learnLimit(id, error, plan: &plan) : withdraw(id, error, &plan)
    }
    // Without bytes, a new link has nothing to resume.
    guard plan.receivedCount > 0 else {
      return failed(id, error, plan: &plan, at: now, using: &rng)
    }
    if head.wasRedirected, !hasResolvedAgain {
      hasResolvedAgain = true
      return [open(id, plan)]
    }
    let isFreshLink = head.wasRedirected || hasResolvedAgain
    // A fresh link was refused: the range is not the reason.
    if isFreshLink { rangeTrial.hasEnded = true }
    let mayExpire = isFreshLink || ([403, 410].contains(head.status) && rules.url.mayExpire)
    let last = mayExpire ? Self.expired(head.status) : error
    return failed(id, last, plan: &plan, at: now, using: &rng)
  }

  private static func expired(_ status: Int) -> TransferError {
    TransferError(
      .needsNewURL,
      "the link has expired (\(status))", advice: "get a new one",
      status: status
    ).remedied(by: .newAddress)
  }
}
