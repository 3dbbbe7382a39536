import HaulCore

/// Performing what the machine returns.
extension DownloadRun {
  mutating func perform(
    _ command: DownloadMachine.Command, _ group: inout DiscardingTaskGroup
  ) async {
    switch command {
    case .open(let id, let fetch): open(id, fetch, &group)
    case .receive(let id, let body, let version): await receive(id, body, begin: version, &group)
    case .compare(let id, let range): compare(id, range, &group)
    case .noteUnproved: await noteUnproved()
    case .drop(let id): responses[id] = nil
    case .stop(let id): stops[id]?.stop()
    case .begin(let version): await begin(version)
    case .requestConnection: requestConnection()
    case .releaseConnection:
      engine.slots.update { _ = $0.releaseConnection(for: driver.id) }
      await driver.context.report(.slotsChanged)
    case .wake(let timer, let delay): wake(timer, after: delay, &group)
    case .leaveSlot: await driver.context.report(.slotLeft(until: retryAt))
    case .enterSlot: await driver.context.report(.slotWanted)
    case .limitHost(let error): await driver.limitHost(error)
    case .pauseHost(let delay):
      pauseHost(delay)
      await driver.context.report(.slotsChanged)
    case .hostFailed(let delay): await driver.hostFailed(askAgain: delay)
    case .verify(let checksums): verify(checksums, &group)
    case .publish(let version): await publish(version, &group)
    case .phase(let phase, let reason):
      if phase == .restarted { reused = 0 }
      tell(.phase(phase, reason: reason))
    case .attempt(let number, let error, let delay):
      retries += 1
      tell(.attempt(number: number, error: error, delay: delay))
    case .settled(let choice): settled(on: choice)
    case .resume(let error): log(lost: error)
    case .finish(let end): await finish(end)
    }
  }

  func tell(_ kind: TransferEvent.Kind) {
    engine.hub.publish(kind, of: driver.id, request.url)
  }

  private mutating func open(
    _ id: SegmentID, _ fetch: FetchRequest, _ group: inout DiscardingTaskGroup
  ) {
    requests += 1
    var fetch = fetch
    fetch.prefersHTTP2 = !fetch.isAdditional && engine.sharesConnections(to: request.url.origin)
    if let response = takeFirst(for: fetch) {
      firstAnswered = id
      post.yield(.response(id, HeldAnswer(response)))
      return
    }
    driver.log(id, asks: fetch)
    let (post, engine, host) = (post, engine, driver.host)
    if !fetch.isAdditional {
      let stop = StopSignal()
      let direct = DirectFetch(id: id, stop: stop, engine: engine) { post.yield($0) }
      if direct.begin(fetch, of: host) {
        stops[id] = stop
        return
      }
    }
    // A further connection of one transfer gets a thread of its own, where there is one.
    watch(id, on: fetch.isAdditional ? nil : executor, &group) { [fetch] watched in
      await watched.ask(fetch, of: host) { post.yield(.response(id, HeldAnswer($0))) }
    }
  }

  /// What was measured is worth knowing to the host's next transfers; what only the user's number says is not.
  private func settled(on choice: ConnectionChoice) {
    log(choice)
    tell(.connections(choice))
    let host = driver.host
    switch choice.reason {
    case .noGain, .slower:
      engine.slots.update { $0.settled(on: choice.connections, of: host) }
    case .limit where choice.rate != nil: engine.slots.update { $0.settled(on: nil, of: host) }
    case .limit, .refused, .remembered: break
    }
  }

  private mutating func receive(
    _ id: SegmentID, _ body: ResponseBody, begin version: DownloadMachine.Version?,
    _ group: inout DiscardingTaskGroup
  ) async {
    guard let response = responses.removeValue(forKey: id) else { return }
    // A new generation begins: nothing of an earlier run is in it.
    if version != nil { reused = 0 }
    let post = post
    let receiver = SegmentReceiver(
      id: id, transfer: driver.id, response: response, body: body, begin: version,
      checksums: machine.checksums(of: version), target: target, plan: plan, engine: engine,
      maximumSize: request.maximumSize,
      delivered: { post.yield(.event(.delivered(id))) })
    if let chunks = response.collected, receiver.isSmall, !engine.throttle.isLimited {
      switch await receiver.put(collected: chunks) {
      case .ended: post.yield(.event(.ended(id)))
      case .failed(let error): post.yield(.event(.failed(id, error)))
      }
      return
    }
    watch(id, on: id.number == 1 ? executor : nil, &group) { watched in
      await watched.run { silence in
        switch await receiver.run(silence) {
        case .ended: .ended(id)
        case .failed(let error): .failed(id, error)
        }
      }
    }
  }

  private mutating func compare(
    _ id: SegmentID, _ range: ByteRange, _ group: inout DiscardingTaskGroup
  ) {
    guard let response = responses.removeValue(forKey: id) else { return }
    let target = target
    watch(id, on: nil, &group) { watched in
      await watched.attempt { _ in
        var bytes: [UInt8] = []
        for try await chunk in response.body {
          chunk.withBytes { bytes.append(contentsOf: $0) }
          if bytes.count > range.length { break }
        }
        let (received, isWhole) = (bytes, Int64(bytes.count) == range.length)
        let isSame =
          isWhole ? try await target.holds(received, at: range.lowerBound) : false
        return .compared(id, isSame: isSame)
      }
    }
  }

  /// Runs one connection's work until it ends, is told to stop, or is silent for too long.
  private mutating func watch(
    _ id: SegmentID, on executor: (any TaskExecutor)?, _ group: inout DiscardingTaskGroup,
    _ work: @escaping @Sendable (WatchedFetch) async -> DownloadMachine.Event?
  ) {
    let stop = StopSignal()
    stops[id] = stop
    let (post, engine) = (post, engine)
    group.addTask {
      let watched = WatchedFetch(id: id, stop: stop, engine: engine, executor: executor)
      if let event = await work(watched) { post.yield(.event(event)) }
    }
  }

  private func requestConnection() {
    if engine.slots.update({ $0.grantConnection(for: driver.id) }) {
      post.yield(.event(.connectionGranted))
    }
  }

  private mutating func wake(
    _ timer: DownloadMachine.Timer, after delay: Duration, _ group: inout DiscardingTaskGroup
  ) {
    let (post, clock) = (post, engine.clock)
    let instant = clock.now + delay
    if timer == .retry { retryAt = instant }
    group.addTask {
      if (try? await clock.sleep(until: instant)) != nil { post.yield(.event(.timer(timer))) }
    }
  }

  private func pauseHost(_ delay: Duration) {
    let until = engine.clock.now + delay
    engine.slots.update { $0.backOff(driver.host, until: until) }
  }
}
