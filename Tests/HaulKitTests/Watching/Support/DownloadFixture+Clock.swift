import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting

extension DownloadFixture {
  /// A manager on the real network and the real file system, with that clock and one transfer at a
  /// time. `end` shuts it down.
  func manager(
    clock: any TransferClock, store: any Store = MemoryStore(), authorities: String? = nil,
    _ change: (inout TransferManager.Configuration) -> Void = { _ in }
  ) throws -> (TransferManager, end: () async -> Void) {
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = 1
    change(&configuration)
    var settings = HTTPTransport.Settings()
    settings.certificateAuthorities = authorities
    let transport = try HTTPTransport(settings)
    let engine = Engine(
      transport: transport, disk: POSIXDisk(), io: BlockingIO(), clock: clock,
      configuration: configuration)
    let manager = TransferManager(engine: engine, store: store)
    let end = {
      await manager.shutdown()
      await transport.shutdown()
    }
    return (manager, end)
  }

  /// Runs `body` with such a manager, which is shut down afterwards.
  func withManager(
    clock: any TransferClock, _ body: (TransferManager) async throws -> Void
  ) async throws {
    let (manager, end) = try manager(clock: clock)
    do {
      try await body(manager)
    } catch {
      await end()
      throw error
    }
    await end()
  }
}
