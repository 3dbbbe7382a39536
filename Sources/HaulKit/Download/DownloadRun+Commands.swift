import HaulCore

/// Performs the machine's commands.
extension DownloadRun {
  /// - Parameter now: when they were decided: a wait for a pause ends with that pause.
  mutating func perform(_ command: DownloadMachine.Command, at now: Instant) async {
    switch command {
    case .open(let id, let fetch): open(id, fetch)
    case .bind(let id): await bind(toAnswerOf: id)
    case .receive(let id, let body, let version): await receive(id, body, newVersion: version)
    case .compare(let id, let range): compare(id, range)
    case .noteMixedVersions: await noteMixedVersions()
    case .drop(let id): drop(id)
    case .stop(let id): stop(id)
    case .begin(let version): await begin(version)
    case .requestConnection: requestConnection()
    case .releaseConnection:
      engine.scheduler.update { _ = $0.releaseConnection(for: id) }
      await context.report(.slotsChanged)
    case .wake(let timer, let delay): wake(timer, at: now + delay)
    case .releaseSlot: await context.report(.slotReleased(until: retryAt))
    case .requestSlot: await context.report(.slotRequested)
    case .limitHost(let error): await limitHost(error)
    case .refusedAdditional(let error): log(refused: error)
    case .pauseHost(let delay):
      await context.pauseHost(host, until: now + delay)
    case .hostFailed(let delay): await hostFailed(nextTrial: delay)
    case .verify(let checksums, let page): verify(checksums, orPage: page)
    case .publish(let version): await publish(version)
    case .phase(let phase, let reason):
      if phase == .restarted { reused = 0 }
      emit(.phase(phase, reason: reason))
    case .attempt(let number, let error, let delay):
      retries += 1
      emit(.attempt(number: number, error: error, delay: delay))
    case .connectionsChosen(let choice): noteChoice(choice)
    case .resume(let error): log(lost: error)
    case .finish(let end): await finish(end)
    }
  }

  func emit(_ kind: TransferEvent.Kind) {
    engine.hub.emit(kind, of: id, context.identity)
  }

  /// Remembers a measured choice for the next transfers of the host, but not a limit that the user
  /// set, nor what was measured under a limit of its own.
  private func noteChoice(_ choice: ConnectionChoice) {
    log(choice)
    emit(.connections(choice))
    guard !context.isRateLimited else { return }
    let host = host
    switch choice.reason {
    case .noGain, .slower:
      engine.scheduler.update { $0.noteChosenConnections(choice.connections, of: host) }
    case .limit where choice.rate != nil:
      engine.scheduler.update { $0.noteChosenConnections(nil, of: host) }
    case .limit, .refused, .remembered: break
    }
  }

  private func requestConnection() {
    if engine.scheduler.update({ $0.grantConnection(for: id) }) {
      inbox.post(.event(.connectionGranted))
    }
  }

  private mutating func wake(_ timer: DownloadMachine.Timer, at instant: Instant) {
    let clock = engine.clock
    if timer == .retry { retryAt = instant }
    helpers.append { [inbox] in
      if (try? await clock.sleep(until: instant)) != nil { inbox.post(.timer(timer, instant)) }
    }
  }
}
