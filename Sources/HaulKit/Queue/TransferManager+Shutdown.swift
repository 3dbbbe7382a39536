import HaulCore

/// The end of what runs, when the manager ends.
extension TransferManager {
  private static let patience: Duration = .seconds(4)
  private static let lastMoment: Duration = .seconds(1)

  /// Returns when nothing runs. All of it was told to pause; a step that does not is cut short, and at last what runs still is left.
  func stopRuns() async {
    let clock = engine.clock
    let limit = Task(executorPreference: engine.soleExecutor) { [weak self] in
      do {
        try await clock.sleep(until: clock.now + Self.patience)
        await self?.cutShort()
        try await clock.sleep(until: clock.now + Self.lastMoment)
        await self?.leaveRest()
      } catch {
        // Everything has stopped.
      }
    }
    while let id = runs.keys.min() { await waits.stopped.value(for: id) }
    limit.cancel()
    await limit.value
  }

  /// A step that was cut short is stored as one that was under way when the program ended.
  private func cutShort() {
    for id in runs.keys.sorted() {
      guard queue.members[id]?.facts.isStep == true else { continue }
      runs[id]?.isCutShort = true
      runs[id]?.context.send(.cutShort)
    }
  }

  /// A download can be held up by a disk that does not answer, or by who signs its requests: what it has claimed is there.
  private func leaveRest() {
    hasLeftRuns = !runs.isEmpty
    for id in runs.keys.sorted() { forget(id) }
  }

  /// Whether how it ended is of no interest any more.
  func isLeft(_ id: TransferID) -> Bool {
    guard let run = runs[id] else { return isShutDown }
    guard run.isCutShort else { return false }
    forget(id)
    return true
  }

  private func forget(_ id: TransferID) {
    runs[id] = nil
    waits.stopped.resume(id, ())
  }
}
