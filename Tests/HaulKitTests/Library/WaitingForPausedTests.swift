import HaulCore
import HaulKit
import Testing

/// Which transfers wait for a paused one, as `haul wait` asks.
@Suite(.timeLimit(.minutes(10))) struct WaitingForPausedTests {
  /// Adds transfers that each wait for the one before.
  private func withChain(
    _ count: Int, _ body: (TransferManager, [TransferID]) async throws -> Void
  ) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    try await withTransferManager(configuration) { manager in
      manager.register(step: "say") { _ in }
      let requests = (0..<count).map { number in
        var request = TransferRequest.step("say", input: "")
        request.identifier = "\(number)"
        if number > 0 { request.after = ["\(number - 1)"] }
        return request
      }
      try await body(manager, try await manager.add(requests).map(\.id))
    }
  }

  @Test func `All that come after a paused transfer wait for it, and those before do not`()
    async throws
  {
    try await withChain(6) { manager, ids in
      #expect(await manager.coordinator.waitingForPaused(ids) == [])
      _ = try await manager.pause(.ids([ids[2]]))
      #expect(await manager.coordinator.waitingForPaused(ids) == Set(ids[2...]))
      #expect(await manager.coordinator.waitingForPaused([ids[5], ids[1]]) == [ids[5]])
    }
  }

  @Test func `Each member of a long chain is looked at once`() async throws {
    try await withChain(50_000) { manager, ids in
      _ = try await manager.pause(.ids([ids[0]]))
      #expect(await manager.coordinator.waitingForPaused(ids).count == ids.count)
    }
  }
}
