import HaulCore

/// Calls `body` with a manager whose list lives in memory, and shuts the manager down when it
/// returns or throws.
/// - Parameters:
///   - configuration: the rules of the manager.
///   - body: what it is for; transfers that have not ended by then are stopped, and their bytes
///     kept.
/// - Throws: as `TransferManager.init(_:)`, and what `body` throws.
public nonisolated(nonsending) func withTransferManager<Result>(
  _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
  _ body: (TransferManager) async throws -> Result
) async throws -> Result {
  try await with(try TransferManager(configuration), body)
}

/// Calls `body` with a manager whose list is kept in a directory, and shuts the manager down when
/// it returns or throws.
/// - Parameters: as `TransferManager.init(directory:_:ifDamaged:steps:)`; what has not ended when
///   `body` returns goes on the next time.
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
