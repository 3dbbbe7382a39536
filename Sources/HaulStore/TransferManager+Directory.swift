public import FoundationEssentials
public import HaulCore
public import HaulKit

extension TransferManager {
  /// A manager whose list is stored in a directory, and survives the end of the program and a power
  /// cut. A stored list continues at once: running transfers are requeued, paused ones stay paused,
  /// and pending commands are carried out.
  ///
  /// The directory is created if missing, and belongs to one manager at a time. Downloaded files
  /// are stored elsewhere.
  /// - Parameters:
  ///   - directory: where the list is stored.
  ///   - configuration: the rules of the manager; they are not stored.
  ///   - ifDamaged: what happens to a damaged list.
  ///   - steps: the closures of the steps in the list, by name: they are not stored.
  /// - Throws: `in-use` when another manager, in this program or another, uses the directory (the
  ///   error names the program); `permission-denied` when other users may write there; `io` when
  ///   the list is damaged or of a newer version of Haul; `disk-full`; `tls` as `init(_:)`.
  /// - Complexity: O(members of the list).
  public convenience init(
    directory: String,
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    ifDamaged: DamagedStorePolicy = .refuse, steps: [String: StepClosure] = [:]
  ) async throws(TransferError) {
    try directory.checkPath()
    var configuration = configuration
    if configuration.uploadDirectory == nil {
      configuration.uploadDirectory =
        directory.appendingPath("uploads")
    }
    var options = SQLiteStore.Options()
    options.ifDamaged = ifDamaged
    options.reached = { [hooks = configuration.hooks] in hooks.reached(.storing) }
    try await self.init(configuration, replacing: PortOverrides(), steps: steps) {
      [options] clock throws(TransferError) in
      let store = try await SQLiteStore(directory: directory, clock: clock, options: options)
      return OpenedStore(store: store, damage: store.damage)
    }
  }
}

extension TransferManager {
  /// A manager whose list is stored in the directory of a file URL.
  /// - Parameters: as `init(directory:_:ifDamaged:steps:)` of a path.
  /// - Throws: as `init(directory:_:ifDamaged:steps:)` of a path; `bad-name` for any other URL.
  public convenience init(
    directory: URL,
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    ifDamaged: DamagedStorePolicy = .refuse, steps: [String: StepClosure] = [:]
  ) async throws(TransferError) {
    try await self.init(
      directory: try directory.filePath, configuration, ifDamaged: ifDamaged, steps: steps)
  }
}

/// Calls `body` with a manager whose list is stored in a directory, and shuts the manager down when
/// it returns or throws.
/// - Parameters: as `TransferManager.init(directory:_:ifDamaged:steps:)`; transfers that have not
///   ended when `body` returns continue when the list is opened again.
/// - Throws: as `TransferManager.init(directory:_:ifDamaged:steps:)`, and what `body` throws.
public nonisolated(nonsending) func withTransferManager<Result>(
  directory: String,
  _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
  ifDamaged: DamagedStorePolicy = .refuse, steps: [String: StepClosure] = [:],
  _ body: (TransferManager) async throws -> Result
) async throws -> Result {
  try await shuttingDown(
    try await TransferManager(
      directory: directory, configuration, ifDamaged: ifDamaged, steps: steps), body)
}
