import HaulCore

/// Cancelled uploads whose stores could not be asked to delete their parts, which cost money. The
/// stores are asked again, less and less often, also after the list is opened again.
extension QueueCoordinator {
  private static let firstAbortDelay: Duration = .seconds(60)
  private static let longestAbortDelay: Duration = .seconds(3600)
  /// About a day.
  private static let maximumAbortAttempts = 30

  /// - Parameter delay: until the next attempt.
  func abortLater(_ aborts: [PendingAbort], after delay: Duration = firstAbortDelay) {
    guard !aborts.isEmpty else { return }
    let ids = Set(aborts.map(\.id))
    pendingAborts.removeAll { ids.contains($0.id) }
    pendingAborts += aborts
    abortAttempts = 0
    deadlines.set(.aborts, to: engine.clock.now + delay)
  }

  /// Asks every store once.
  func abortAgain() async {
    abortAttempts += 1
    let isLast = abortAttempts >= Self.maximumAbortAttempts
    var ended: Set<TransferID> = []
    for abort in pendingAborts {
      guard !isShutDown else { return }
      // One that was retried continues with its parts, or deletes them.
      if runs.isRunning(abort.id) {
        ended.insert(abort.id)
      } else if await abort.request.cleanUp(after: abort.id, engine) {
        ended.insert(abort.id)
      } else if isLast {
        engine.log(
          TransferError(
            .httpStatus,
            "\(abort.id): the store still has parts of \(abort.request.url.redacted), and does not "
              + "delete them",
            advice: "delete its unfinished uploads there"))
        ended.insert(abort.id)
      }
    }
    pendingAborts.removeAll { ended.contains($0.id) }
    if !ended.isEmpty {
      // If the store of the list refuses this, they are tried once more when it is opened again.
      await performDecisionWithoutStarting { (_, decision) in
        decision.endedAborts = ended.sorted()
      }
    }
    guard !pendingAborts.isEmpty else { return }
    let delay = Self.firstAbortDelay * (1 << min(abortAttempts, 6))
    deadlines.set(.aborts, to: engine.clock.now + min(delay, Self.longestAbortDelay))
  }
}
