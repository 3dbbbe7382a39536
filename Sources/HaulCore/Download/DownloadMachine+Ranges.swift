/// Servers that refuse, break or spoil requests for a range.
extension DownloadMachine {
  /// Why a first answer is believed only if a request without a range gets the same: some servers
  /// answer a range with nothing, or with a page. Nil if it is believed.
  func reasonToAskWithoutRange(
    _ verdict: ResponseVerdict, _ head: ResponseHead, to request: FetchRequest
  ) -> String? {
    guard version == nil, request.firstByte != nil else { return nil }
    switch verdict {
    case .empty: return "an empty file to a request for a range"
    case .whole where head.isPage && rules.url.namesOtherThanPage:
      return "a web page to a request for a range"
    default: return nil
    }
  }

  /// The same for a body without an announced length that had no byte.
  mutating func askWithoutRange(
    afterEmptyBodyOf fetch: Fetch, _ plan: inout SegmentPlan
  ) -> [Command]? {
    guard goal == .transfer, fetches.isEmpty, fetch.request.firstByte != nil, plan.length == nil,
      plan.receivedCount == 0, !plan.isCommitted
    else { return nil }
    ranges.disuse()
    forgetVersion(&plan)
    return openMore(&plan)
  }

  /// Changes what is requested next, once, instead of giving up; false if nothing is left to try.
  mutating func asksDifferently(_ fetch: Fetch, _ error: TransferError) -> Bool {
    if fetch.body == nil, fetch.request.url != rules.url, !redirects.hasAskedAgain {
      redirects.hasAskedAgain = true
      redirects.forget()
      return true
    }
    guard mayConcernRange(fetch, error), !ranges.hasEnded else { return false }
    // Other transfers found the host silent, too: that is no matter of ranges.
    if error.code == .timeout, surroundings.hostHealth.failures > attempts.failures { return false }
    ranges.endTrials()
    ranges.disuse()
    maximumConnections = 1
    return true
  }

  /// Some mirrors fail for good: the third attempt goes to the original address, or the first if
  /// there are no bytes, which another mirror would not continue. The range may be left out.
  mutating func chooseNextRequest(
    after fetch: Fetch, _ error: TransferError, attempt: Int, _ plan: SegmentPlan
  ) {
    if fetch.body == nil, attempt >= (plan.receivedCount == 0 ? 1 : 3) {
      redirects.forget()
    }
    let isSilence = !fetch.hasDelivered && [.timeout, .stalled].contains(error.code)
    ranges.chooseNext(
      attempt: attempt, isSilence: isSilence, isReason: mayConcernRange(fetch, error),
      hasBytes: plan.receivedCount > 0)
  }

  private func mayConcernRange(_ fetch: Fetch, _ error: TransferError) -> Bool {
    toCompare.isEmpty
      && ranges.mayBeReason(
        of: error, from: fetch.request.firstByte, hasDelivered: fetch.hasDelivered)
  }
}

/// Another version, seen by an additional connection only.
extension DownloadMachine {
  /// All bytes have come. Without a digest, the server is asked which version it has now, if there
  /// is doubt.
  mutating func received(_ plan: inout SegmentPlan) -> [Command] {
    guard checksums.isEmpty, let other = changes.takeDoubt() else { return finishing() }
    let id = plan.assignNothing()
    let command = open(id, plan)
    change(id) { $0.purpose = .identify(other) }
    return [command]
  }

  /// The file changed if the server sends the other version again. With the first one, or a new one
  /// each time, nothing is known against the bytes: they are of one version.
  mutating func identified(
    _ id: SegmentID, _ verdict: ResponseVerdict, other: Version, plan: inout SegmentPlan
  ) -> [Command] {
    if let version, let body = verdict.body, comparison(of: body, to: version) == .different,
      comparison(of: body, to: other) != .different
    {
      changes.isOneConnection = true
      let commands = abandon(id, "the file changed on the server", plan: &plan)
      changes.restarts += 1
      return commands
    }
    _ = close(id)
    plan.release(id)
    return [.drop(id)] + finishing()
  }
}

extension ResponseVerdict {
  fileprivate var body: ResponseBody? {
    switch self {
    case .range(let body), .whole(let body): body
    default: nil
    }
  }
}

extension TransferError {
  /// Whether the server or the way to it is the cause, not this machine.
  var isOfNetwork: Bool {
    switch code {
    case .httpStatus, .notFound, .unauthorized, .forbidden, .needsNewURL, .timeout, .stalled, .dns,
      .connect, .connectionLost, .tls, .proxy, .protocolViolation, .redirectRefused,
      .tooManyRedirects, .rateLimited, .rangeNotSatisfiable:
      true
    default: false
    }
  }
}
