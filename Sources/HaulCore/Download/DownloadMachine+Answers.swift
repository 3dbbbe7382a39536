/// Judges answers: whether to trust them, whether the file changed, and what to request instead.
extension DownloadMachine {
  mutating func responded(
    _ id: SegmentID, _ head: ResponseHead, _ leadsElsewhere: Bool, plan: inout SegmentPlan,
    at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [Command] {
    guard let fetch = fetches[id] else { return [.drop(id)] }
    guard goal == .transfer || (goal == .confirm && id == confirming) else {
      _ = close(id)
      plan.release(id)
      return [.drop(id)] + settle(&plan)
    }
    // It was stopped while its answer was on the way.
    if fetch.isLaidOff {
      return [.drop(id)] + stopped(id, plan: &plan, at: now, using: &rng)
    }
    let verdict = ResponseJudge(wallSeconds: wallSeconds).verdict(on: head, to: fetch.request)
    if case .failure(let error) = verdict {
      return [.drop(id)]
        + refused(id, error, from: head, plan: &plan, at: now, using: &rng)
    }
    hasAnswered = true
    let isElsewhere = isElsewhere(head, leadsElsewhere)
    if case .compare(let range) = fetch.purpose {
      return isElsewhere
        ? startAnew(id, plan: &plan) : answeredComparison(id, range, verdict, plan: &plan)
    }
    if rules.learnsName, let length = verdict.acceptedLength {
      return askForTarget(id, head, length: length, plan: &plan)
    }
    if head.wasRedirected { resolved = head.url }
    let answer = Answer(
      location: head.url, isElsewhere: isElsewhere,
      digest: ReprDigest.checksums(head.headers).first { $0.algorithm.isTrusted },
      coding: head.headers["Content-Encoding"].flatMap {
        ["identity", ""].contains($0.lowercased()) ? nil : $0
      })
    switch verdict {
    case .failure: return []
    case .range(let body): return answered(id, with: body, isWhole: false, answer, plan: &plan)
    case .whole(let body): return answered(id, with: body, isWhole: true, answer, plan: &plan)
    case .empty(let validator): return answeredEmpty(id, validator, answer, plan: &plan)
    case .unusableRange(let why): return withoutRange(id, why, plan: &plan)
    case .unsatisfiable(let total):
      return isElsewhere
        ? startAnew(id, plan: &plan) : unsatisfied(id, head, total: total, plan: &plan)
    }
  }

  /// What an answer says apart from its body.
  struct Answer {
    let location: ResourceURL
    /// Whether it is of another resource than the bytes on disk, judging by addresses.
    let isElsewhere: Bool
    /// The digest of the whole file that it announces.
    let digest: Checksum?
    /// The content coding of its body.
    let coding: String?
  }

  private mutating func unsatisfied(
    _ id: SegmentID, _ head: ResponseHead, total: Int64?, plan: inout SegmentPlan
  ) -> [Command] {
    guard let first = fetches[id]?.request.firstByte, first > 0 else {
      return withoutRange(id, "416 to the whole", plan: &plan)
    }
    let newer = Validator(head.headers, now: wallSeconds)
    if isRefusedBeside(id, total: total, newer) {
      // The server does not serve this range now; the working connections fetch it.
      return letGo(id, &plan)
    }
    if let version, version.length == nil, plan.received.covers(0..<first),
      version.validator.comparison(with: newer) != .different
    {
      // The length was unknown until now: perhaps nothing is missing.
      if total == nil { return withoutRange(id, "416 without a length", plan: &plan) }
      if total == first { return nothingIsMissing(id, length: first, plan: &plan) }
    }
    return changed(id, "the server no longer has the range (416)", plan: &plan)
  }

  /// Whether a 416 came on an additional connection and does not mean another version.
  private func isRefusedBeside(_ id: SegmentID, total: Int64?, _ newer: Validator) -> Bool {
    guard let version, let length = version.length, total == nil || total == length else {
      return false
    }
    return goal == .transfer && version.validator.comparison(with: newer) != .different
      && fetches.contains { $0.key != id && $0.value.body != nil }
  }

  private mutating func nothingIsMissing(
    _ id: SegmentID, length: Int64, plan: inout SegmentPlan
  ) -> [Command] {
    goal = .transfer
    version?.length = length
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
    if isWhole, fetches[id]?.request.ifRange != nil { return askPlainly(id, plan) }
    var isProved = true
    if answer.isElsewhere {
      guard let join = join(body, answer.digest) else {
        if fetches.contains(where: { $0.key != id && $0.value.body != nil }) {
          return letGo(id, &plan)
        }
        return askFormer(id, body, plan) ?? startAnew(id, plan: &plan)
      }
      isProved = join == .sameVersion
    } else {
      switch sameness(of: body, answer.digest, to: version) {
      case .different: return changed(id, "the file changed on the server", plan: &plan)
      case .unknown where !joinsUnproved:
        return changed(id, "the server no longer sends a validator", plan: &plan)
      case .same: break
      case .unknown: isProved = false
      }
    }
    // Bytes that a reader has received cannot be hashed any more.
    if self.version?.announced == nil, !rules.isStream { self.version?.announced = answer.digest }
    if goal == .confirm { (goal, confirmations) = (.transfer, 0) }
    if version.length == nil, let total = body.total {
      if let last = plan.received.ranges.last, last.upperBound > total {
        return changed(id, "the file is shorter now", plan: &plan)
      }
      self.version?.length = total
      plan.learn(length: total)
    }
    self.version?.location = answer.location
    (pending, isAskingFormer) = (nil, false)
    let notes = isProved ? [] : noteUnproved()
    return notes + (isWhole ? streamWhole(id, body, plan: &plan) : receive(id, body))
  }

  func sameness(
    of body: ResponseBody, _ digest: Checksum? = nil, to version: Version
  ) -> Validator.Comparison {
    if let total = body.total, let length = version.length, total != length { return .different }
    // Equal digests mean equal bytes; a different validator is then that of another node.
    if let digest, let announced = version.announced, digest.algorithm == announced.algorithm {
      return digest == announced ? .same : .different
    }
    return version.validator.comparison(with: body.validator)
  }

  private mutating func receive(_ id: SegmentID, _ body: ResponseBody) -> [Command] {
    change(id) { $0.body = body }
    let command = Command.receive(id, body, begin: hasBegun ? nil : version)
    if isTransferring { return [command] }
    isTransferring = true
    return [.phase(.transferring, reason: nil), command]
  }

  /// The first answer of a version: everything that can refuse it does so before a byte of its body
  /// is read.
  private mutating func adopt(
    _ id: SegmentID, _ body: ResponseBody, isWhole: Bool, _ answer: Answer,
    plan: inout SegmentPlan
  ) -> [Command] {
    let version = Version(
      validator: body.validator, length: body.total, announced: answer.digest,
      location: answer.location, coding: answer.coding)
    if let end = refusal(of: version) { return [.drop(id)] + closeAndFinish(id, end, &plan) }
    if asksForExisting, !isWhole {
      hasComparedExisting = true
      return [.drop(id), open(id, plan)]
    }
    self.version = version
    if let length = version.length { plan.learn(length: length) }
    hasBegun = false
    sendsRange = !isWhole
    cap = !isWhole && version.length != nil && mayResume ? rules.connections : 1
    framing = body.framing
    return receive(id, body)
  }

  func refusal(of version: Version) -> End? {
    if let same = rules.existing.first(where: { $0.isOf(version, wallSeconds: wallSeconds) }) {
      return .alreadyThere(same)
    }
    if rules.needsExisting {
      return .failed(
        TransferError(
          .nameConflict, "another file has that name; replace it, or give another name"
        ).remedied(by: .existingFile))
    }
    if let length = version.length, let maximum = rules.maximumSize, length > maximum {
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
    guard version == nil else { return changed(id, "the file is empty now", plan: &plan) }
    let version = Version(
      validator: validator, length: 0, announced: answer.digest, location: answer.location)
    if let end = refusal(of: version) { return [.drop(id)] + closeAndFinish(id, end, &plan) }
    self.version = version
    plan.learn(length: 0)
    _ = close(id)
    plan.release(id)
    return [.drop(id), .begin(version)] + finishing()
  }

  /// A whole body where a range was requested: writes what is missing and skips the rest, on one
  /// connection.
  private mutating func streamWhole(
    _ id: SegmentID, _ body: ResponseBody, plan: inout SegmentPlan
  ) -> [Command] {
    sendsRange = false
    cap = 1
    guard fetches.count == 1 else { return letGo(id, &plan) }
    plan.streamWhole(id)
    return receive(id, body)
  }

  /// Ends an additional fetch and lowers the limit to the remaining ones, which continue.
  private mutating func letGo(_ id: SegmentID, _ plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    cap = max(1, fetches.count)
    return [.drop(id)] + openMore(&plan)
  }

  /// A 200 to `If-Range` may mean a change, or that the server ignores ranges then: a plain range
  /// request tells which.
  private mutating func askPlainly(_ id: SegmentID, _ plan: SegmentPlan) -> [Command] {
    sendsIfRange = false
    return [.drop(id), open(id, plan)]
  }

  private mutating func withoutRange(
    _ id: SegmentID, _ why: String, plan: inout SegmentPlan
  ) -> [Command] {
    guard fetches[id]?.request.firstByte != nil else {
      let error = TransferError(.protocolViolation, "the server sent \(why)")
      _ = close(id)
      plan.release(id)
      return [.drop(id)] + stopAll(for: .fail(error), plan: &plan)
    }
    sendsRange = false
    cap = 1
    guard fetches.count == 1 else { return letGo(id, &plan) }
    return [.drop(id), open(id, plan)]
  }
}

/// Another version, or bytes that nothing proves.
extension DownloadMachine {
  /// Accepted only after two more requests, a second apart, agree: nodes of one server may differ.
  mutating func changed(_ id: SegmentID, _ reason: String, plan: inout SegmentPlan) -> [Command] {
    // The resource was expected to differ: no need to ask again.
    if pending == .otherAddress { return startAnew(id, plan: &plan) }
    guard restarts == 0, !plan.isCommitted else { return abandon(id, reason, plan: &plan) }
    _ = close(id)
    plan.release(id)
    confirming = nil
    if goal == .confirm { confirmations += 1 }
    if confirmations < 2 { return [.drop(id)] + stopAll(for: .confirm, plan: &plan) }
    restarts += 1
    return [.drop(id)] + stopAll(for: .startOver(reason), plan: &plan)
  }

  /// Starts over. If the run already did once, or a reader has bytes, it fails instead.
  mutating func abandon(_ id: SegmentID, _ reason: String, plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    confirming = nil
    var next = Goal.startOver(reason)
    if plan.isCommitted {
      next = .fail(Self.changedInStream(reason))
    } else if restarts > 0 {
      next = .fail(
        TransferError(
          .changedOnServer, "\(reason), twice in one run; run the same command when it is stable"))
    }
    return [.drop(id)] + stopAll(for: next, plan: &plan)
  }

  mutating func answeredComparison(
    _ id: SegmentID, _ range: ByteRange, _ verdict: ResponseVerdict, plan: inout SegmentPlan
  ) -> [Command] {
    if case .range(let body) = verdict, let version, body.end == range.upperBound,
      sameness(of: body, to: version) != .different
    {
      fetches[id]?.body = body
      return [.compare(id, range)]
    }
    return [.drop(id)] + cannotCount(id, plan: &plan)
  }

  mutating func compared(_ id: SegmentID, isSame: Bool, plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer else {
      _ = close(id)
      plan.release(id)
      return settle(&plan)
    }
    guard isSame else { return cannotCount(id, plan: &plan) }
    toCompare.removeFirst(min(1, toCompare.count))
    let isProved = version?.validator.isStrong == true && !isUnproved
    return (toCompare.isEmpty && !isProved ? noteUnproved() : []) + [open(id, plan)]
  }

  private mutating func cannotCount(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    return stopAll(for: .startOver("the bytes on disk differ from the server's"), plan: &plan)
  }
}
