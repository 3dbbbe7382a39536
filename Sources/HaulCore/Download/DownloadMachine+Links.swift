/// Links that expire: an address that redirects led to is good for a while only.
extension DownloadMachine {
  /// 401, 403, 404 or 410: a link that has expired, a limit of connections said by 403, or a
  /// refusal for good.
  ///
  /// A fetch from an address that was resolved earlier asks the original address again. Only what a
  /// fresh link answers says something about the server.
  mutating func denied(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan,
    at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    if let commands = leaveFormer(id, plan) { return commands }
    if let used = fetches[id]?.request.url, used != rules.url {
      // Another fetch may have found a fresh one meanwhile.
      if resolved == used { resolved = nil }
      hasResolvedAgain = true
      return [open(id, plan)]
    }
    if fetches.count > 1 {
      return deniedAdditional(id, error, from: head, plan: &plan)
    }
    // Without bytes there is nothing that a new link could go on from.
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

  /// While another connection works, 403 is the server's way to say that it serves no more of them.
  /// While none has been answered yet, the last to be answered decides.
  private mutating func deniedAdditional(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan
  ) -> [Command] {
    let another = fetches.contains { $0.key != id && $0.value.body != nil }
    if another, head.status == 403 { return learnLimit(id, error, plan: &plan) }
    _ = close(id)
    plan.release(id)
    if another { cap = max(1, fetches.count) }
    return giveBackConnection()
  }

  private static func expired(_ status: Int) -> TransferError {
    TransferError(
      .needsNewURL,
      "the link has expired (\(status)); get a new one",
      status: status
    ).remedied(by: .newAddress)
  }
}
