import HaulCore

/// Performs the machine's commands.
extension DownloadRun {
  mutating func perform(_ command: DownloadMachine.Command) async {
    switch command {
    case .open(let id, let fetch): open(id, fetch)
    case .bind(let id): await bind(toAnswerOf: id)
    case .receive(let id, let body, let version): await receive(id, body, begin: version)
    case .compare(let id, let range): compare(id, range)
    case .noteUnproved: await noteUnproved()
    case .drop(let id): drop(id)
    case .stop(let id): stop(id)
    case .begin(let version): await begin(version)
    case .requestConnection: requestConnection()
    case .releaseConnection:
      engine.slots.update { _ = $0.releaseConnection(for: id) }
      await context.report(.slotsChanged)
    case .wake(let timer, let delay): wake(timer, after: delay)
    case .leaveSlot: await context.report(.slotLeft(until: retryAt))
    case .enterSlot: await context.report(.slotWanted)
    case .limitHost(let error): await limitHost(error)
    case .pauseHost(let delay):
      pauseHost(delay)
      await context.report(.slotsChanged)
    case .hostFailed(let delay): await hostFailed(askAgain: delay)
    case .verify(let checksums): verify(checksums)
    case .publish(let version): await publish(version)
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
    engine.hub.emit(kind, of: id, context.identity)
  }

  /// Remembers a measured choice for the next transfers of the host; a choice limited only by the
  /// user's option is not remembered.
  private func settled(on choice: ConnectionChoice) {
    log(choice)
    tell(.connections(choice))
    let host = host
    switch choice.reason {
    case .noGain, .slower:
      engine.slots.update { $0.settled(on: choice.connections, of: host) }
    case .limit where choice.rate != nil: engine.slots.update { $0.settled(on: nil, of: host) }
    case .limit, .refused, .remembered: break
    }
  }

  private func requestConnection() {
    if engine.slots.update({ $0.grantConnection(for: id) }) {
      inbox.post(.event(.connectionGranted))
    }
  }

  private mutating func wake(_ timer: DownloadMachine.Timer, after delay: Duration) {
    let clock = engine.clock
    let instant = clock.now + delay
    if timer == .retry { retryAt = instant }
    helpers.append { [inbox] in
      if (try? await clock.sleep(until: instant)) != nil { inbox.post(.timer(timer, instant)) }
    }
  }

  private func pauseHost(_ delay: Duration) {
    let until = engine.clock.now + delay
    engine.slots.update { $0.backOff(host, until: until) }
  }
}
