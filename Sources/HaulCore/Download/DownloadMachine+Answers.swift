/// Judges answers: whether to trust them, whether the file changed, and what to request instead.
extension DownloadMachine {
  mutating func responded(
    _ id: SegmentID, _ head: ResponseHead, _ isFromOtherAddress: Bool, plan: inout SegmentPlan
  ) -> [Command] {
    guard let fetch = fetches[id] else { return [.drop(id)] }
    guard goal == .transfer || (goal == .confirm && id == changes.confirming) else {
      _ = close(id)
      plan.release(id)
      return [.drop(id)] + continueWhenStopped(&plan)
    }
    // The fetch was stopped before its answer arrived.
    if fetch.isUnneeded || plan.segments[id] == nil {
      return [.drop(id)] + stopped(id, plan: &plan)
    }
    let verdict = ResponseJudge(wallSeconds: wallSeconds).verdict(on: head, to: fetch.request)
    if case .identify(let other) = fetch.purpose {
      return identified(id, verdict, other: other, plan: &plan)
    }
    if case .failure(let error) = verdict {
      return [.drop(id)] + refused(id, error, from: head, plan: &plan)
    }
    attempts.hasAnswered = true
    let isOtherResource = isOtherResource(head, isFromOtherAddress)
    // Any other answer to it is judged like one to a request for the rest: it may be a login page.
    if case .compare(let range) = fetch.purpose, case .range(let body) = verdict {
      return isOtherResource
        ? startOverWithNewResource(id, plan: &plan)
        : answeredComparison(id, range, body, plan: &plan)
    }
    if let why = reasonToAskWithoutRange(verdict, head, to: fetch.request) {
      // A cache may have that answer, too.
      needsConfirmation = true
      return requestWithoutRange(id, why, plan: &plan)
    }
    if case .awaited = naming, let length = verdict.acceptedLength {
      return askForTarget(id, head, length: length, plan: &plan)
    }
    if head.wasRedirected { redirects.follow(head.url, as: head.redirection) }
    let answer = Answer(
      location: head.url, isOtherResource: isOtherResource,
      digest: head.trustedDigest,
      page: misplacedPage(head),
      copiedAt: head.cacheUse == .hit ? head.copiedAt ?? .infinity : nil)
    switch verdict {
    case .failure: return []
    case .range(let body): return answered(id, with: body, isWhole: false, answer, plan: &plan)
    case .whole(let body): return answered(id, with: body, isWhole: true, answer, plan: &plan)
    case .empty(let validator): return answeredEmpty(id, validator, answer, plan: &plan)
    case .unusableRange(let why): return requestWithoutRange(id, why, plan: &plan)
    case .unsatisfiable(let total):
      return isOtherResource
        ? startOverWithNewResource(id, plan: &plan)
        : handleUnsatisfiable(id, head, total: total, plan: &plan)
    }
  }

  /// What an answer says, without its body.
  struct Answer {
    let location: ResourceURL
    /// Whether it is of another resource than the bytes on disk, judging by addresses.
    let isOtherResource: Bool
    /// The digest of the whole file that it announces.
    let digest: Checksum?
    /// What it may be in place of a file of another kind.
    let page: MisplacedPage?
    /// When the copy of a cache that did not ask the server was received, in seconds since 1970.
    let copiedAt: Double?
  }

  private mutating func handleUnsatisfiable(
    _ id: SegmentID, _ head: ResponseHead, total: Int64?, plan: inout SegmentPlan
  ) -> [Command] {
    guard let first = fetches[id]?.request.firstByte, first > 0 else {
      return requestWithoutRange(id, "416 to a request for the whole file", plan: &plan)
    }
    let newer = Validator(head.headers, now: wallSeconds)
    if isRefusedOnAdditional(id, total: total, newer) {
      // The server does not serve this range now; the working connections fetch it.
      return closeSurplus(id, "416", &plan)
    }
    if let version, version.length == nil, plan.received.covers(0..<first),
      version.validator.comparison(with: newer) != .different
    {
      // The length was unknown until now: perhaps nothing is missing.
      if total == nil { return requestWithoutRange(id, "416 without a length", plan: &plan) }
      if total == first { return finishWithLength(id, length: first, plan: &plan) }
    }
    return changed(id, "the server no longer has the range (416)", plan: &plan)
  }

  /// Whether a 416 came on an additional connection and does not mean another version.
  private func isRefusedOnAdditional(_ id: SegmentID, total: Int64?, _ newer: Validator) -> Bool {
    guard let version, let length = version.length, total == nil || total == length else {
      return false
    }
    return goal == .transfer && version.validator.comparison(with: newer) != .different
      && fetches.contains { $0.key != id && $0.value.body != nil }
  }

  private mutating func finishWithLength(
    _ id: SegmentID, length: Int64, plan: inout SegmentPlan
  ) -> [Command] {
    goal = .transfer
    content?.version.length = length
    plan.learn(length: length)
    _ = close(id)
    plan.release(id)
    return [.drop(id)] + finishing()
  }

  private mutating func answered(
    _ id: SegmentID, with body: ResponseBody, isWhole: Bool, _ answer: Answer,
    plan: inout SegmentPlan
  ) -> [Command] {
    guard let version else {
      return adopt(id, body, isWhole: isWhole, answer, plan: &plan)
    }
    if isWhole, fetches[id]?.request.ifRange != nil { return requestWithoutIfRange(id, plan) }
    // Bytes from another address are expected to differ.
    if isWhole, pending != .otherAddress,
      let error = StrangeAnswer.error(
        body, isPage: answer.page != nil, version.validator,
        received: plan.receivedCount)
    {
      guard fetches.count == 1 else { return closeSurplus(id, "something else", &plan) }
      // A redirect led to it, perhaps that of a hotel's network: the given address is asked again.
      if answer.location != rules.request.askedURL { redirects.forget() }
      return confirm(id, orElse: .fail(error), plan: &plan)
    }
    if !toCompare.isEmpty {
      forgotten = plan.receivedCount
      return abandon(
        id, "the server refuses to have the bytes on disk compared", plan: &plan)
    }
    var isProved = true
    if answer.isOtherResource {
      guard let join = join(body, answer.digest) else {
        if isBesideWorking(id) { return closeSurplus(id, "a file of another address", &plan) }
        return requestPreviousAddress(id, body, plan) ?? startOverWithNewResource(id, plan: &plan)
      }
      isProved = join == .sameVersion
    } else {
      switch comparison(of: body, answer.digest, to: version) {
      case .different:
        return changed(id, "the file changed on the server", seen: body, plan: &plan)
      case .unknown where !joinsMixedVersions:
        return changed(id, "the server no longer sends a validator", plan: &plan)
      case .same: break
      case .unknown: isProved = false
      }
    }
    // A stream cannot hash bytes that its reader has already received.
    if version.announced == nil, !rules.isStream { content?.version.announced = answer.digest }
    if goal == .confirm {
      goal = .transfer
      changes.refute()
    }
    if version.length == nil, let total = body.total {
      if let last = plan.received.ranges.last, last.upperBound > total {
        return changed(id, "the file is shorter now", plan: &plan)
      }
      content?.version.length = total
      plan.learn(length: total)
    }
    content?.version.location = answer.location
    // Nothing had said so far what bytes of an earlier run are.
    content?.version.page = answer.page ?? (pending == nil ? version.page : nil)
    pending = nil
    redirects.noteAcceptance()
    let notes = isProved ? [] : noteMixedVersions()
    return notes
      + (isWhole ? receiveWholeBody(id, body, plan: &plan) : receive(id, body, &plan))
  }

  func comparison(
    of body: ResponseBody, _ digest: Checksum? = nil, to version: Version
  ) -> Validator.Comparison {
    if let total = body.total, let length = version.length, total != length { return .different }
    // Servers forget that each coding needs a tag of its own (RFC 9110, section 8.8.3).
    if !version.hasCoding(of: body) { return .different }
    // Equal digests mean equal bytes; a different validator then comes from another server node.
    if let digest, let announced = version.announced, digest.algorithm == announced.algorithm {
      return digest == announced ? .same : .different
    }
    return version.validator.comparison(with: body.validator)
  }

  private mutating func receive(
    _ id: SegmentID, _ body: ResponseBody, _ plan: inout SegmentPlan
  ) -> [Command] {
    change(id) { $0.body = body }
    plan.noteAnswer(id, upTo: body.end)
    let command = Command.receive(id, body, newVersion: hasBegun ? nil : version)
    if content?.isTransferring == true { return [command] }
    content?.isTransferring = true
    return [.phase(.transferring, reason: nil), command]
  }

  /// Accepts the first answer of a version. All checks are made before any of its body is received.
  private mutating func adopt(
    _ id: SegmentID, _ body: ResponseBody, isWhole: Bool, _ answer: Answer,
    plan: inout SegmentPlan
  ) -> [Command] {
    var version = Version(
      validator: changes.hasUnstableValidators ? .none : body.validator, length: body.total,
      announced: answer.digest, location: answer.location, coding: body.coding)
    if let copiedAt = answer.copiedAt {
      if let same = existing.files.first(where: { $0.isAsNew(as: version, receivedAt: copiedAt) }) {
        return [.drop(id)] + closeAndFinish(id, .alreadyExists(same), &plan)
      }
      // The existing file may be newer than the copy, which would replace it.
      if !existing.files.isEmpty, existing(like: version) == nil { needsConfirmation = true }
      if needsConfirmation { return [.drop(id), open(id, plan)] }
    }
    if let end = refusal(of: version) { return [.drop(id)] + closeAndFinish(id, end, &plan) }
    if asksForExisting, !isWhole {
      hasComparedExisting = true
      return [.drop(id), open(id, plan)]
    }
    let strange = StrangeAnswer.error(
      body, isPage: answer.page != nil, .none, received: forgotten ?? 0)
    if let strange { return [.drop(id)] + closeAndFinish(id, .failed(strange), &plan) }
    version.page = answer.page
    content = Content(version: version)
    if let length = version.length { plan.learn(length: length) }
    ranges.begin(isWhole: isWhole)
    let isSplit = ranges.isUsed && version.length != nil && mayResume && !changes.isOneConnection
    maximumConnections = isSplit ? rules.connections : 1
    framing = body.framing
    return receive(id, body, &plan)
  }

  private func existing(like version: Version) -> ExistingFile? {
    existing.files.first { $0.isCopy(of: version, wallSeconds: wallSeconds) }
  }

  func refusal(of version: Version) -> End? {
    if let same = existing(like: version) { return .alreadyExists(same) }
    if existing.isNeeded { return .failed(.isAnotherFile(than: rules.request.askedURL)) }
    if let length = version.length, let maximum = rules.request.maximumSize, length > maximum {
      return .failed(
        TransferError(
          .tooLarge, "the file has \(length) bytes, more than the allowed \(maximum)"
        ).remedied(by: .maximumSize))
    }
    return nil
  }

  mutating func closeAndFinish(
    _ id: SegmentID, _ end: End, _ plan: inout SegmentPlan
  ) -> [Command] {
    _ = close(id)
    plan.release(id)
    return finish(end)
  }

  private mutating func answeredEmpty(
    _ id: SegmentID, _ validator: Validator, _ answer: Answer, plan: inout SegmentPlan
  ) -> [Command] {
    if version != nil, plan.receivedCount > 0, pending != .otherAddress {
      guard fetches.count == 1 else { return closeSurplus(id, "something else", &plan) }
      return confirm(id, orElse: .fail(StrangeAnswer.empty), plan: &plan)
    }
    guard version == nil else { return changed(id, "the file is empty now", plan: &plan) }
    let version = Version(
      validator: validator, length: 0, announced: answer.digest, location: answer.location)
    let strange: End? = forgotten == nil ? nil : .failed(StrangeAnswer.empty)
    let end = strange ?? refusal(of: version)
    if let end { return [.drop(id)] + closeAndFinish(id, end, &plan) }
    content = Content(version: version)
    plan.learn(length: 0)
    _ = close(id)
    plan.release(id)
    return [.drop(id), .begin(version)] + finishing()
  }

  /// Handles a whole body where a range was requested: writes the missing bytes and skips the rest,
  /// on one connection.
  private mutating func receiveWholeBody(
    _ id: SegmentID, _ body: ResponseBody, plan: inout SegmentPlan
  ) -> [Command] {
    ranges.disuse()
    maximumConnections = 1
    guard fetches.count == 1 else { return closeSurplus(id, "the whole file", &plan) }
    plan.receiveWholeBody(id)
    return receive(id, body, &plan)
  }

  /// Ends an additional fetch that got something else; the others continue.
  mutating func closeSurplus(
    _ id: SegmentID, _ what: String, _ plan: inout SegmentPlan
  ) -> [Command] {
    let error = TransferError(
      .protocolViolation, "the server sends \(what) to an additional connection")
    return [.drop(id)] + withdraw(id, error, &plan)
  }

  /// A 200 to `If-Range` means that the file changed, or that the server ignores such requests. A
  /// plain range request distinguishes them.
  private mutating func requestWithoutIfRange(_ id: SegmentID, _ plan: SegmentPlan) -> [Command] {
    ranges.mayBeConditional = false
    return [.drop(id), open(id, plan)]
  }

  private mutating func requestWithoutRange(
    _ id: SegmentID, _ why: String, plan: inout SegmentPlan
  ) -> [Command] {
    guard fetches[id]?.request.firstByte != nil else {
      let error = TransferError(.protocolViolation, "the server sent \(why)")
      _ = close(id)
      plan.release(id)
      return [.drop(id)] + stopAll(for: .fail(error), plan: &plan)
    }
    ranges.disuse()
    maximumConnections = 1
    guard fetches.count == 1 else { return closeSurplus(id, why, &plan) }
    return [.drop(id), open(id, plan)]
  }
}

extension ResponseVerdict {
  /// The announced length of an answer that may be the file: `.some(nil)` if it announces none; nil
  /// for any other answer.
  var acceptedLength: Int64?? {
    switch self {
    case .range(let body), .whole(let body): .some(body.total)
    case .empty: .some(0)
    case .failure, .unusableRange, .unsatisfiable: nil
    }
  }
}
