import HaulCore

/// Attempts, and what the transfers of one host learn from each other.
extension UploadRun {
  /// The host under which the scheduler knows the transfer.
  var host: String { request.url.origin.authority }

  /// Begins an attempt if the connection of its slot is still available. If the host now has a
  /// pause or a lower limit, it releases the slot and waits in its old position.
  mutating func begin() async {
    let (host, now) = (host, engine.clock.now)
    let isPaused = engine.scheduler.update { $0.pauseEnd(of: host).map { $0 > now } ?? false }
    connections = isPaused ? 0 : grantConnections()
    if connections > 0 {
      guard machine == nil else {
        return await handle(.start(record, connections: connections))
      }
      if case .unknown(let source) = input { return ask(source) }
      return read(UploadExtent.window)
    }
    await context.report(.slotReleased(until: nil))
    await context.report(.slotRequested)
  }

  /// As many connections as are useful and free.
  /// - Parameter granted: those that it has.
  func grantConnections(beside granted: Int = 0) -> Int {
    let (id, most) = (id, driver.maximumConnections(for: input))
    return engine.scheduler.update { scheduler in
      var granted = granted
      while granted < most, scheduler.grantConnection(for: id) { granted += 1 }
      return granted
    }
  }

  mutating func connect(_ count: Int) async -> UploadEvent {
    let (id, before) = (id, connections)
    connections = engine.scheduler.update { scheduler in
      var held = before
      while held < count, scheduler.grantConnection(for: id) { held += 1 }
      while held > count, scheduler.releaseConnection(for: id) { held -= 1 }
      return held
    }
    if connections < before { await context.report(.slotsChanged) }
    return .connected(connections)
  }

  /// - Returns: the health of a host that did not answer.
  mutating func noteHost(before event: UploadEvent) async -> HostHealth? {
    let id = id
    switch event {
    case .answered:
      let now = engine.clock.now
      if engine.scheduler.update({ $0.hostAnswered(for: id, at: now) }) {
        engine.noteHosts()
        await context.report(.slotsChanged)
      }
      return nil
    case .failed: return engine.scheduler.update { $0.hostHealth(for: id) }
    case .start, .stored, .digested, .sourceChecked, .read, .streamSent, .connected: return nil
    }
  }

  mutating func retry(
    after delay: Duration, _ attempt: Int, _ error: TransferError
  ) async {
    guard stopOrder == nil else { return }
    let clock = engine.clock
    let now = clock.now
    let due = now + delay
    retryAt = due
    let id = id
    if error == sourceError {
      pauseSource(after: error, from: now)
    } else if let pause = error.pause {
      await context.pauseHost(host, until: now + pause)
    }
    // Without a key, it was not asked.
    if error.status == nil, error != sourceError, error.code != .unauthorized {
      engine.scheduler.update { $0.hostFailed(for: id, at: now, nextTrial: due) }
      engine.noteHosts()
    }
    input.remote?.releaseMost()
    helpers.append { [inbox] in
      if (try? await clock.sleep(until: due)) != nil { inbox.yield(.retryDue(due)) }
    }
    engine.hub.emit(
      .attempt(number: attempt, error: error.namingSource(of: request), delay: delay), of: id,
      context.identity)
    await context.report(.slotReleased(until: due))
  }
}
