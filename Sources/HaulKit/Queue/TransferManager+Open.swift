import HaulCore

extension TransferManager {
  /// Takes up what the store holds: what ran is queued again, what was paused stays so, orders that were not carried out are.
  ///
  /// Once, before anything is added; steps that it is to run are registered before.
  /// - Throws: `io`, when the store cannot be read.
  package func open() async throws(TransferError) {
    let stored = try await store.open()
    try await carryOut { (decision) throws(TransferError) in
      queue = QueueMachine(stored)
      queue.recover(&decision)
    }
    await startWhatMay()
  }
}
