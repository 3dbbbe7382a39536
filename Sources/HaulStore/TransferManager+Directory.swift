public import HaulCore
public import HaulKit

extension TransferManager {
  /// A manager whose list is kept in a directory, and survives the program and a power cut. What it
  /// finds there goes on at once: what ran waits for a slot again, what was paused is paused,
  /// orders that were not carried out are.
  ///
  /// The directory is made if missing, and belongs to one manager at a time. What is downloaded
  /// lies elsewhere.
  /// - Parameters:
  ///   - directory: where the list is kept.
  ///   - configuration: holds while the manager lives; it is not stored.
  ///   - ifDamaged: whether a damaged list is put aside for an empty one.
  ///   - steps: the steps that are in the list, by their names: what they do is not stored.
  /// - Throws: `in-use` when another manager has the directory, in this program or another, which
  ///   is named; `permission-denied` when others may write there; `io` when the list is damaged or
  ///   of a newer version of Haul; `disk-full`; `tls` as `init(_:)`.
  /// - Complexity: O(members of the list).
  public convenience init(
    directory: String,
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    ifDamaged: DamagedList = .refuse, steps: [String: StepClosure] = [:]
  ) async throws(TransferError) {
    try directory.checkPath()
    var options = SQLiteStore.Options()
    options.ifCorrupt = ifDamaged == .startEmpty ? .startEmpty : .refuse
    options.passes = { configuration.hooks.passes(.storing) }
    try await self.init(configuration, replacing: ReplacedPorts(), steps: steps) {
      [options] clock throws(TransferError) in
      let store = try await SQLiteStore(directory: directory, clock: clock, options: options)
      return OpenedStore(store: store, damage: store.damage)
    }
  }
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
  try await shuttingDown(
    try await TransferManager(
      directory: directory, configuration, ifDamaged: ifDamaged, steps: steps), body)
}
