/// Handles links that expire: a redirect's address is valid only for a while.
extension DownloadMachine {
  /// Handles 401, 403, 404 and 410: an expired link, a connection limit, or a final refusal.
  ///
  /// A fetch from a redirected address asks the original address again. Only the answer to a fresh
  /// link counts.
  mutating func denied(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan
  ) -> [Command] {
    if let commands = returnToOriginalAddress(id, plan) { return commands }
    if let used = fetches[id]?.request.url, used != rules.url {
      redirects.forget(used)
      redirects.hasAskedAgain = true
      return [open(id, plan)]
    }
    if fetches.count > 1 {
      return head.status == 403 && isBesideWorking(id)
        ? learnLimit(id, error, plan: &plan) : withdraw(id, error, &plan)
    }
    // Without bytes, a new link has nothing to resume.
    guard plan.receivedCount > 0 else { return failed(id, error, plan: &plan) }
    if head.wasRedirected, !redirects.hasAskedAgain {
      redirects.hasAskedAgain = true
      return [open(id, plan)]
    }
    let isFreshLink = head.wasRedirected || redirects.hasAskedAgain
    // A fresh link was refused: the range is not the reason.
    if isFreshLink { ranges.endTrials() }
    var last = error
    if rules.url.mayExpire, isFreshLink || [403, 410].contains(head.status) {
      last = Self.expired(head.status)
    } else if isFreshLink {
      last = Self.refusedAgain(error)
    }
    return failed(id, last, plan: &plan)
  }

  /// The given address does not look like one that expires: nobody knows that it has.
  private static func refusedAgain(_ error: TransferError) -> TransferError {
    TransferError(
      .needsNewURL, "\(error.fact), also to a new redirect",
      advice: "the bytes are kept; try again later, or get another address", status: error.status
    ).remedied(by: .newAddress)
  }

  private static func expired(_ status: Int) -> TransferError {
    TransferError(
      .needsNewURL,
      "the link has expired (\(status))", advice: "get a new one",
      status: status
    ).remedied(by: .newAddress)
  }
}
