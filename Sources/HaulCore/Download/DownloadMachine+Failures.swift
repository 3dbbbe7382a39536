/// Handles failed fetches: which count as attempts, lower a limit, or end the transfer.
extension DownloadMachine {
  /// Handles an error response.
  mutating func refused(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan
  ) -> [Command] {
    switch head.status {
    case 420, 429, 503, 509:
      if fetches.count > 1 { return learnLimit(id, error, plan: &plan) }
      if surroundings.hostServesOthers, goal == .transfer {
        return yieldToOthers(id, error, plan: &plan)
      }
      return failed(id, error, plan: &plan)
    case 401, 403, 404, 410:
      return denied(id, error, from: head, plan: &plan)
    default: return failed(id, error, plan: &plan)
    }
  }

  /// The server refused one more connection: lowers the limit to the number of open ones, and
  /// counts no attempt.
  mutating func learnLimit(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    maximumConnections = max(1, fetches.count)
    return limit(error) + openMore(&plan)
  }

  /// Whether other connections receive bytes: then nothing that this one gets ends the download.
  func isBesideWorking(_ id: SegmentID) -> Bool {
    goal == .transfer && fetches.contains { $0.key != id && $0.value.body != nil }
  }

  /// An additional connection got something else than its bytes: the others continue, and no more
  /// are opened.
  mutating func withdraw(
    _ id: SegmentID, _ error: TransferError, _ plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    maximumConnections = max(1, fetches.count)
    return [.refusedAdditional(error)] + openMore(&plan)
  }

  /// What to do instead of failing; nil if nothing remains.
  ///
  /// - An additional connection leaves its bytes to the others. If they have ended meanwhile, it
  ///   asks again, as the only one.
  /// - The original address may lead to another mirror now.
  /// - Firewalls and broken servers refuse requests for their range: one is sent without.
  mutating func insteadOfFailing(
    _ id: SegmentID, _ error: TransferError, _ plan: inout SegmentPlan
  ) -> [Command]? {
    guard let fetch = fetches[id], error.isOfNetwork else { return nil }
    if goal == .transfer, fetches.count > 1 { return withdraw(id, error, &plan) }
    guard fetch.body == nil else { return nil }
    if goal == .transfer, fetch.request.isAdditional, hasBegun {
      maximumConnections = 1
      return [.refusedAdditional(error), open(id, plan)]
    }
    return asksDifferently(fetch, error) ? [open(id, plan)] : nil
  }

  /// The host serves other transfers but not this one: gives the slot back and counts no attempt.
  /// Each time, the host's limit is lowered, so this cannot repeat for ever.
  private mutating func yieldToOthers(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    attempts.isWaiting = true
    let pause = max(min(error.pause ?? .zero, RetryAfter.longestPause), .milliseconds(500))
    return limit(error) + forgetUnresumable(&plan)
      + [.wake(.retry, after: pause)] + releaseFailedConnection()
  }

  private func limit(_ error: TransferError) -> [Command] {
    [.limitHost(error)] + (error.pause.map { [.pauseHost($0)] } ?? [])
  }

  mutating func failed(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    guard let fetch = fetches[id] else { return [] }
    if error.code == .changedOnServer, goal == .transfer || goal == .confirm {
      let commands = abandon(id, error.fact, plan: &plan)
      changes.restarts += 1
      return commands
    }
    if plan.isComplete || (goal != .transfer && goal != .confirm) {
      return stopped(id, plan: &plan)
    }
    if fetch.isUnneeded || plan.segments[id] == nil, error.isRetryable {
      return stopped(id, plan: &plan)
    }
    if let commands = returnToOriginalAddress(id, plan) { return commands }
    if error.cause == .noNetwork { return disconnected(id, error, plan: &plan) }
    if error.cause == .hostPaused { return pausedBeforeSending(id, plan: &plan) }
    let isConnectionRefused = fetch.body == nil && [.connectionLost, .connect].contains(error.code)
    // A failure shows a limit only if fewer connections delivered before, or a limit is known.
    let isTooMany = fetches.count > max(peakDelivering, 1) || maximumConnections < rules.connections
    if fetches.count > 1, attempts.hasDelivered, isTooMany, isConnectionRefused {
      return learnLimit(id, error, plan: &plan)
    }
    guard error.isRetryable else {
      return insteadOfFailing(id, error, &plan) ?? fail(id, error, plan: &plan)
    }
    let isCheap = resumesAtOnce(id, error, plan)
    let isUnanswered = isUnanswered(error, fetch)
    _ = close(id)
    plan.release(id)
    if isCheap { return [.resume(error)] + openMore(&plan) }
    goal = .transfer
    changes.confirming = nil
    // A failure of this attempt was already counted. If nothing else would continue, this one
    // counts too.
    if fetch.attemptNumber != attempts.number, attempts.isWaiting || !fetches.isEmpty {
      return releaseFailedConnection()
    }
    if let loss = streamFailure(error, plan) { return stopAll(for: .fail(loss), plan: &plan) }
    attempts.begin()
    if isUnanswered, surroundings.hostHealth.isTrialOfAnotherTransfer { return waitForHost(&plan) }
    return countAttempt(error, of: fetch, isUnanswered: isUnanswered, plan: &plan)
  }

  /// Whether the transfer had one request only, and the host did not answer it.
  private func isUnanswered(_ error: TransferError, _ fetch: Fetch) -> Bool {
    let codes: [TransferError.Code] = [.dns, .connect, .proxy, .timeout, .stalled, .connectionLost]
    return fetch.body == nil && fetches.count == 1 && codes.contains(error.code)
      && !error.isOfRedirect && fetch.request.url.origin == rules.request.askedURL.origin
  }

  /// Another transfer retries the host, which does not answer: waits until it is this transfer's
  /// turn, and counts no attempt.
  private mutating func waitForHost(_ plan: inout SegmentPlan) -> [Command] {
    forgetUnresumable(&plan) + releaseFailedConnection() + (fetches.isEmpty ? [.requestSlot] : [])
  }

  /// There is no network: counts no attempt, and no failure of the host. Open connections may
  /// survive; if there are none, the run ends.
  private mutating func disconnected(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    guard fetches.count > 1 else { return fail(id, error, plan: &plan) }
    _ = close(id)
    plan.release(id)
    return releaseFailedConnection()
  }

  /// The host asked for a pause after the request was decided: it would keep the slot for nothing.
  /// Gives it to another transfer, and counts no attempt.
  private mutating func pausedBeforeSending(
    _ id: SegmentID, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    goal = .transfer
    changes.confirming = nil
    return waitForHost(&plan)
  }

  /// Whether the segment of a lost connection resumes at once, without counting an attempt: other
  /// connections still deliver, and the lost one had delivered enough to justify one more request.
  private func resumesAtOnce(_ id: SegmentID, _ error: TransferError, _ plan: SegmentPlan) -> Bool {
    guard goal == .transfer, let fetch = fetches[id], fetch.body != nil,
      [.connectionLost, .stalled].contains(error.code), error.retryAfter == nil, mayResume,
      let position = plan.segments[id]?.written,
      position - fetch.start >= RetryPolicy.progressThatCounts
    else { return false }
    return fetches.contains { $0.key != id && $0.value.hasDelivered && !$0.value.isUnneeded }
  }

  private mutating func countAttempt(
    _ error: TransferError, of fetch: Fetch, isUnanswered: Bool, plan: inout SegmentPlan
  ) -> [Command] {
    let decision = attempts.failed(
      error, unresponsiveHost: isUnanswered ? surroundings.hostHealth : nil,
      received: plan.receivedCount, of: plan.length, isKept: mayResume, at: now)
    switch decision {
    case .giveUp where goal == .transfer && !fetches.isEmpty:
      maximumConnections = fetches.count
      return [.refusedAdditional(error)] + releaseFailedConnection()
    case .giveUp where asksDifferently(fetch, error):
      return forgetUnresumable(&plan) + openMore(&plan)
    case .giveUp:
      let pause =
        rules.isAttended
        ? nil : RetryPolicy.ceiling(ofAttempt: surroundings.hostHealth.failures + 1)
      return (isUnanswered ? [.hostFailed(nextTrial: pause)] : [])
        + stopAll(for: .fail(attempts.last(error)), plan: &plan)
    case .retry(let delay, let attempt):
      chooseNextRequest(after: fetch, error, attempt: attempt, plan)
      let pauses =
        (error.pause.map { [Command.pauseHost($0)] } ?? [])
        + (isUnanswered ? [.hostFailed(nextTrial: delay)] : [])
      // The timer comes first: a test may advance its manual clock when the attempt is reported.
      return pauses + forgetUnresumable(&plan)
        + [.wake(.retry, after: delay), .attempt(attempt, error, delay: delay)]
        + releaseFailedConnection()
    }
  }

  /// Forgets a version that has no bytes on disk, or that cannot be recognised in the next answer.
  mutating func forgetUnresumable(_ plan: inout SegmentPlan) -> [Command] {
    guard version != nil, pending == nil, fetches.isEmpty, !hasBegun || !mayResume else {
      return []
    }
    let loss = TransferError(.connectionLost, "the server sent less than the whole file")
    if let loss = streamFailure(loss, plan) { return stopAll(for: .fail(loss), plan: &plan) }
    let isLoss = plan.receivedCount > 0
    if isLoss, version?.page == nil { forgotten = plan.receivedCount }
    forgetVersion(&plan)
    let reason = "the connection broke, and the server sends no strong validator to resume with"
    return isLoss ? [.phase(.restarted, reason: reason)] : []
  }

  /// The next answer begins the file.
  mutating func forgetVersion(_ plan: inout SegmentPlan) {
    content = nil
    maximumConnections = 1
    meter.tuner.handle(.lost, at: now)
    plan.startOver(length: nil)
    // Nothing binds it to the address that a redirect named.
    redirects.forget()
  }

  /// The error that ends a stream whose reader has bytes, if nothing proves that the next answer is
  /// of the same version.
  private func streamFailure(_ error: TransferError, _ plan: SegmentPlan) -> TransferError? {
    guard plan.isCommitted, !mayResume else { return nil }
    return TransferError(
      error.code, error.fact,
      advice: "the output has a part of the file and cannot be resumed; write to a file",
      status: error.status
    ).with(.begunStream)
  }

  static func changedInStream(_ reason: String) -> TransferError {
    TransferError(
      .changedOnServer,
      "\(reason), after bytes were written out",
      advice: "the output is the beginning of the older version"
    ).with(.begunStream)
  }

  private mutating func fail(
    _ id: SegmentID, _ error: TransferError, plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    return stopAll(for: .fail(error), plan: &plan)
  }
}

/// Handles links that expire: a redirect's address is valid only for a while.
extension DownloadMachine {
  /// Handles 401, 403, 404 and 410: an expired link, a connection limit, or a final refusal.
  ///
  /// A fetch from a redirected address asks the original address again. Only the answer to a fresh
  /// link counts.
  private mutating func denied(
    _ id: SegmentID, _ error: TransferError, from head: ResponseHead, plan: inout SegmentPlan
  ) -> [Command] {
    if let commands = returnToOriginalAddress(id, plan) { return commands }
    if let used = fetches[id]?.request.url, used != rules.request.askedURL {
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
    if rules.request.askedURL.mayExpire, isFreshLink || [403, 410].contains(head.status) {
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
    case .whole where misplacedPage(head) != nil:
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
  private mutating func asksDifferently(_ fetch: Fetch, _ error: TransferError) -> Bool {
    if fetch.body == nil, fetch.request.url != rules.request.askedURL, !redirects.hasAskedAgain {
      redirects.hasAskedAgain = true
      redirects.forget()
      return true
    }
    guard mayConcernRange(fetch, error), !ranges.hasEnded else { return false }
    // Other transfers found the host silent, too: that is no matter of ranges.
    if error.code == .timeout, surroundings.hostHealth.failures > attempts.failures { return false }
    if !toCompare.isEmpty { return comparesDifferently(fetch, error, isLast: true) }
    ranges.endTrials()
    ranges.disuse()
    maximumConnections = 1
    return true
  }

  /// Some mirrors fail for good: the third attempt goes to the original address, or the first if
  /// there are no bytes, which another mirror would not continue. The range may be left out.
  private mutating func chooseNextRequest(
    after fetch: Fetch, _ error: TransferError, attempt: Int, _ plan: SegmentPlan
  ) {
    if fetch.body == nil, attempt >= (plan.receivedCount == 0 ? 1 : 3) {
      redirects.forget()
    }
    if !toCompare.isEmpty {
      if attempt.isMultiple(of: 2) { _ = comparesDifferently(fetch, error, isLast: false) }
      return
    }
    let isSilence = !fetch.hasDelivered && [.timeout, .stalled].contains(error.code)
    ranges.chooseNext(
      attempt: attempt, isSilence: isSilence, isReason: mayConcernRange(fetch, error),
      hasBytes: plan.receivedCount > 0)
  }

  func mayConcernRange(_ fetch: Fetch, _ error: TransferError) -> Bool {
    ranges.mayBeReason(
      of: error, from: fetch.request.firstByte, hasDelivered: fetch.hasDelivered)
  }
}

extension TransferError {
  /// Whether the server or the way to it is the cause, not this machine.
  var isOfNetwork: Bool {
    switch code {
    case .httpStatus, .notFound, .unauthorized, .notTried, .forbidden, .needsNewURL, .timeout,
      .stalled, .dns, .connect, .connectionLost, .tls, .proxy, .protocolViolation,
      .redirectRefused, .tooManyRedirects, .rateLimited, .rangeNotSatisfiable:
      true
    default: false
    }
  }
}
