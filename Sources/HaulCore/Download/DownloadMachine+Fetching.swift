/// Opens, feeds and ends fetches.
extension DownloadMachine {
  /// Opens as many fetches as it may, and requests more connections if useful.
  mutating func openMore(_ plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer, ending == nil else { return [] }
    // Until the first answer has begun the file, nothing else is requested.
    if version != nil, !hasBegun, !fetches.isEmpty { return [] }
    // A request would only wait, and would keep the slot.
    if surroundings.isHostPaused {
      return fetches.isEmpty && hasWork(plan)
        ? yieldSlot() : keepConnections(max(fetches.count, 1))
    }
    var commands: [Command] = []
    while fetches.count < min(grantedConnections, targetConnections), let id = assign(&plan) {
      commands.append(open(id, plan))
      if pending != nil || version == nil { break }
    }
    return commands + balanceConnections(plan)
  }

  private func hasWork(_ plan: SegmentPlan) -> Bool {
    var trial = plan
    return assign(&trial) != nil
  }

  /// Assigns a segment to an idle connection. While the rate limit holds bytes back, only bytes
  /// that no other fetches: to divide or repeat a segment would bring nothing, and what its
  /// connection has already received beyond the new end would be fetched twice.
  private func assign(_ plan: inout SegmentPlan) -> SegmentID? {
    guard surroundings.heldBack.isEmpty || !plan.unassigned.isEmpty else { return nil }
    return plan.assign(
      minimumSplit: rules.request.minimumSplit, throughputEstimate: meter.estimate)
  }

  /// No request may be sent for a while: gives the slot to another transfer and requests a new one.
  private mutating func yieldSlot() -> [Command] {
    grantedConnections > 0 ? releaseFailedConnection() + [.requestSlot] : []
  }

  /// Gives back connections without work; requests more while there is work for them.
  private mutating func balanceConnections(_ plan: SegmentPlan) -> [Command] {
    guard grantedConnections > 0, fetches.count == grantedConnections,
      grantedConnections < targetConnections,
      !attempts.isWaiting
    else {
      return keepConnections(max(fetches.count, 1))
    }
    var trial = plan
    var count = 0
    while grantedConnections + count < targetConnections, assign(&trial) != nil { count += 1 }
    return Array(repeating: .requestConnection, count: count)
  }

  /// The most connections there should be.
  var targetConnections: Int { min(meter.tuner.target, maximumConnections) }

  private mutating func keepConnections(_ count: Int) -> [Command] {
    let idle = grantedConnections - count
    guard idle > 0 else { return [] }
    grantedConnections = count
    return Array(repeating: .releaseConnection, count: idle)
  }

  /// Gives back the connection of a failed fetch. The last one frees the slot too, because a delay
  /// holds no slot.
  mutating func releaseFailedConnection() -> [Command] {
    guard fetches.isEmpty else {
      return keepConnections(max(fetches.count, grantedConnections - 1))
    }
    guard grantedConnections > 0 else { return [] }
    let released = keepConnections(1)
    grantedConnections = 0
    meter.tuner.handle(.lost, at: now)
    return released + [.releaseSlot]
  }

  mutating func open(_ id: SegmentID, _ plan: SegmentPlan) -> Command {
    guard let segment = plan.segments[id] else { return .drop(id) }
    var request = FetchRequest(
      url: rules.request.askedURL, headers: rules.request.headers,
      allowInsecure: rules.request.allowInsecure)
    (request.signing, request.trustedHosts) = (rules.request.signing, rules.trustedHosts)
    request.bearerFile = rules.request.bearerFile
    // A fetch that this one replaces does not count.
    request.isAdditional = fetches.contains { $0.key != id }
    request.needsConfirmation = needsConfirmation
    request.patience = attempts.patience
    if rules.request.decodesContent {
      request.decodingLimit = rules.request.maximumSize ?? Self.decodingLimit
    }
    request = redirects.applied(to: request)
    var purpose = Purpose.receive
    if let range = toCompare.first, ranges.areAskedFor {
      purpose = .compare(range)
      request.firstByte = range.lowerBound
      request.lastByte = range.upperBound - 1
    } else if ranges.areAskedFor {
      request.firstByte = segment.next
      if asksForExisting { request.lastByte = 0 }
      // A segment without bytes is for a question about the resource.
      if version != nil, segment.end != .max { request.lastByte = max(segment.end, 1) - 1 }
      // An entity tag of another resource says nothing about this one.
      if segment.next > 0, ranges.mayBeConditional, pending != .otherAddress {
        request.ifRange = version?.validator.ifRange
      }
    }
    fetches[id] = Fetch(
      request, for: purpose, attemptNumber: attempts.number, from: segment.next, at: now)
    return .open(id, request)
  }

  /// How many times the usual time a silent connection is kept: less once its first byte has come,
  /// because then it is rather broken than late.
  package func patience(of id: SegmentID) -> Int {
    min(attempts.patience, fetches[id]?.hasDelivered == true ? 4 : .max)
  }

  /// Whether to request one byte first: if the file exists already, its body is not needed.
  var asksForExisting: Bool {
    !existing.files.isEmpty && version == nil && !hasComparedExisting
  }

  mutating func delivered(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    if fetches[id] != nil { content?.hasBegun = true }
    guard goal == .transfer else { return [] }
    change(id) { $0.hasDelivered = true }
    redirects.hasAskedAgain = false
    attempts.noteDelivery()
    if let opened = fetches[id]?.openedAt { meter.noteLatency(now - opened) }
    peakDelivering = max(peakDelivering, fetches.values.count { $0.hasDelivered })
    // Whether the limit holds bytes back is known at the next measurement.
    return surroundings.isRateLimited ? [] : tune(&plan)
  }

  mutating func ended(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    if goal == .transfer, let segment = plan.segments[id], endsEarly(id, segment, plan) {
      let error = TransferError(.connectionLost, "the body ended early", isRetryable: true)
      return failed(id, error, plan: &plan)
    }
    guard let fetch = close(id) else { return [] }
    if !fetches.isEmpty { meter.noteSpeed(of: fetch, upTo: plan.segments[id]?.next, at: now) }
    if let commands = askWithoutRange(afterEmptyBodyOf: fetch, &plan) { return commands }
    content?.hasBegun = true
    if fetch.start > 0, fetch.request.firstByte != nil { ranges.noteServed() }
    // While the length is unknown, the server chooses where a range ends: more may follow.
    let isToTheEnd = fetch.body?.end == nil
    if goal == .transfer, isToTheEnd, plan.length == nil, let segment = plan.segments[id] {
      plan.learn(length: segment.next)
      content?.version.length = segment.next
      framing = fetch.body?.framing ?? .close
    }
    plan.release(id)
    if plan.isComplete, goal == .transfer || goal == .confirm {
      goal = .transfer
      return fetches.isEmpty ? received(&plan) : fetches.keys.sorted().map { .stop($0) }
    }
    guard goal == .transfer else { return continueWhenStopped(&plan) }
    guard fetches.isEmpty, !mayResume else { return stopRedundant(plan) + openMore(&plan) }
    // The server sent less than the rest, and no strong validator would identify the version of
    // another answer.
    ranges.disuse()
    return forgetUnresumable(&plan) + openMore(&plan)
  }

  /// Whether a body without an announced end ended before the known length.
  private func endsEarly(
    _ id: SegmentID, _ segment: SegmentPlan.Segment, _ plan: SegmentPlan
  ) -> Bool {
    guard plan.length != nil, let body = fetches[id]?.body, body.end == nil else { return false }
    return segment.remaining > 0
  }

  mutating func close(_ id: SegmentID) -> Fetch? { fetches.removeValue(forKey: id) }

  /// In place: moving such a large value out of the dictionary and back costs more.
  mutating func change(_ id: SegmentID, _ body: (inout Fetch) -> Void) {
    if let index = fetches.index(forKey: id) { body(&fetches.values[index]) }
  }

  mutating func finishing() -> [Command] {
    guard let version, ending == nil else { return [] }
    // A digest of the user's decides. A server states that of its page.
    let page = rules.request.checksums.isEmpty ? version.page : nil
    guard !checksums.isEmpty || page != nil else { return publish(version) }
    ending = .verifying
    return [.phase(.verifying, reason: nil), .verify(checksums, orPage: page)]
  }

  private mutating func publish(_ version: Version) -> [Command] {
    ending = .publishing
    return [.phase(.publishing, reason: nil), .publish(version)]
  }

  mutating func verified(_ error: TransferError?, plan: inout SegmentPlan) -> [Command] {
    if goal == .pause { return finish(.paused) }
    if let error, error.code == .checksumMismatch, mayMixVersions, !rules.isStream,
      changes.restarts == 0
    {
      ending = nil
      changes.restarts += 1
      return startOver("some bytes on disk were not of this file", &plan)
    }
    if let error {
      return finish(.failed(rules.request.checksums.isEmpty ? error.ofStatedDigest : error))
    }
    guard let version else { return [] }
    return publish(version)
  }

  var verification: TransferResult.Verification {
    if !checksums.isEmpty { return .checksum }
    if mayMixVersions { return .unverified }
    switch framing {
    case .length: return .length
    case .chunked: return .framing
    case .close: return .unverified
    }
  }

  mutating func finish(_ end: End) -> [Command] {
    goal = .done
    return [.finish(end)]
  }
}

/// Chooses connections by throughput: how many, which ones lag, and which are no longer needed.
extension DownloadMachine {
  mutating func measured(_ plan: inout SegmentPlan) -> [Command] {
    let commands = measureRates(&plan)
    // An idle connection may help the segment that would end last.
    return plan.unassigned.isEmpty ? commands + openMore(&plan) : commands
  }

  /// Measures how fast bytes come, and acts on it.
  mutating func measureRates(_ plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer, ending == nil, !fetches.isEmpty else { return [] }
    meter.watch(&fetches, plan, heldBack: surroundings.heldBack, at: now)
    let commands = tune(&plan)
    guard plan.window == nil, !surroundings.isRateLimited,
      let straggler = meter.takeStraggler(of: fetches, plan, at: now)
    else { return commands }
    return commands + [stopUnneeded(straggler)]
  }

  /// Passes a sample to the tuner, and follows its target.
  private mutating func tune(_ plan: inout SegmentPlan) -> [Command] {
    guard surroundings.heldBack.isEmpty else {
      meter.tuner.handle(.heldBack, at: now)
      return []
    }
    let before = meter.tuner.target
    meter.tuner.handle(.measured(sample(plan)), at: now)
    let reported = meter.takeChoice().map { [Command.connectionsChosen($0)] } ?? []
    if meter.tuner.target > before { return reported + openMore(&plan) }
    return reported + stopSurplus(plan)
  }

  private func sample(_ plan: SegmentPlan) -> ConnectionTuner.Sample {
    let bytes = plan.receivedCount
    return ConnectionTuner.Sample(
      open: fetches.count, delivering: fetches.values.count { !$0.isUnneeded && $0.hasDelivered },
      bytes: bytes, rest: plan.length.map { $0 - bytes }, limit: maximumConnections,
      latency: .milliseconds(Int64(meter.estimate.latency * 1000)),
      isLimitedElsewhere: plan.window != nil)
  }

  /// Stops the slowest of the surplus connections.
  private mutating func stopSurplus(_ plan: SegmentPlan) -> [Command] {
    guard goal == .transfer, plan.window == nil, fetches.count > targetConnections else {
      return []
    }
    let active = fetches.filter { !$0.value.isUnneeded && $0.value.slowness == nil }
    guard active.count > targetConnections else { return [] }
    return meter.bySpeed(active.keys).prefix(active.count - targetConnections).map {
      stopUnneeded($0)
    }
  }

  private mutating func stopUnneeded(_ id: SegmentID) -> Command {
    fetches[id]?.isUnneeded = true
    return .stop(id)
  }

  /// Stops segments whose bytes another has fetched.
  private mutating func stopRedundant(_ plan: SegmentPlan) -> [Command] {
    plan.redundantSegments.filter { fetches[$0]?.isUnneeded == false }.map { stopUnneeded($0) }
  }
}
