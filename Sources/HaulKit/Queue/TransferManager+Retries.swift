import HaulCore

/// Attempts that are due later, also when the program ends before.
extension TransferManager {
  /// Stores when a transfer is tried again. That it could not be stored stops nothing: after a restart it is tried at once.
  func storeRetry(of id: TransferID, at instant: Instant) async {
    let delay = instant - engine.clock.now
    guard delay > .zero else { return }
    do {
      try await carryOut { (decision) throws(TransferError) in
        queue.waits(id, until: engine.clock.wallSeconds + delay / .seconds(1), &decision)
      }
    } catch { engine.log(error) }
  }

  /// Comes back to a transfer when its next attempt is due.
  func postpone(_ id: TransferID, until wallSeconds: Double) {
    let clock = engine.clock
    let delay = max(wallSeconds - clock.wallSeconds, 0)
    let seconds = Int(delay.rounded(.up))
    engine.hub.publish(.phase(.waiting, reason: "it is tried again in \(seconds) s"), of: id, nil)
    let instant = clock.now + .seconds(delay)
    guard !isShutDown else { return }
    postponed[id]?.cancel()
    postponed[id] = Task(executorPreference: engine.soleExecutor) { [weak self] in
      guard (try? await clock.sleep(until: instant)) != nil else { return }
      await self?.isDue(id)
    }
  }

  private func isDue(_ id: TransferID) async {
    guard !isShutDown else { return }
    postponed[id] = nil
    do {
      try await carryOut { (decision) throws(TransferError) in queue.due(id, &decision) }
    } catch { engine.log(error) }
    await startWhatMay()
  }
}
