import HaulCore

/// Calls `body` with a manager whose list is in memory, and shuts the manager down when it returns
/// or throws.
/// - Parameters:
///   - configuration: the rules of the manager.
///   - body: uses the manager; transfers that have not ended when it returns are stopped, and their
///     bytes are kept.
/// - Throws: as `TransferManager.init(_:)`, and what `body` throws.
public nonisolated(nonsending) func withTransferManager<Result>(
  _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
  _ body: (TransferManager) async throws -> Result
) async throws -> Result {
  try await shuttingDown(try TransferManager(configuration), body)
}

/// Calls `body` with the manager, and shuts it down when that returns or throws.
package nonisolated(nonsending) func shuttingDown<Result>(
  _ manager: TransferManager, _ body: (TransferManager) async throws -> Result
) async throws -> Result {
  do {
    let result = try await body(manager)
    await manager.shutdown()
    return result
  } catch {
    await manager.shutdown()
    throw error
  }
}
