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
  try await with(try TransferManager(configuration), body)
}

/// Calls `body` with a manager whose list is stored in a directory, and shuts the manager down when
/// it returns or throws.
/// - Parameters: as `TransferManager.init(directory:_:ifDamaged:steps:)`; transfers that have not
///   ended when `body` returns resume when the list is opened again.
/// - Throws: as `TransferManager.init(directory:_:ifDamaged:steps:)`, and what `body` throws.
public nonisolated(nonsending) func withTransferManager<Result>(
  directory: String,
  _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
  ifDamaged: DamagedList = .refuse, steps: [String: StepClosure] = [:],
  _ body: (TransferManager) async throws -> Result
) async throws -> Result {
  try await with(
    try await TransferManager(
      directory: directory, configuration, ifDamaged: ifDamaged, steps: steps), body)
}

private nonisolated(nonsending) func with<Result>(
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
