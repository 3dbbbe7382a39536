import HaulKit
import HaulService
import Logging
import ServiceLifecycle
import Testing

/// A manager in a service group.
@Suite(.timeLimit(.minutes(10))) struct TransferServiceTests {
  private func group(of manager: TransferManager) -> ServiceGroup {
    ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: TransferService(manager))],
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
  }

  private func expectShutDown(_ manager: TransferManager) async {
    let error = await #expect(throws: TransferError.self) { try await manager.add([]) }
    #expect(error?.code == .interrupted)
  }

  @Test func `A service shuts down its manager with its group`() async throws {
    let manager = try TransferManager()
    let (group, events) = (group(of: manager), manager.events())
    async let run: Void = group.run()
    await group.triggerGracefulShutdown()
    try await run
    for await _ in events {}
    await expectShutDown(manager)
  }

  @Test func `A service shuts down its manager when its task is cancelled`() async throws {
    let manager = try TransferManager()
    let service = TransferService(manager)
    let task = Task { await service.run() }
    task.cancel()
    await task.value
    await expectShutDown(manager)
  }
}
