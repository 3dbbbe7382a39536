import HaulKit
import HaulStore
import HaulTesting
import Testing

/// The lifetime of a manager.
@Suite(.timeLimit(.minutes(10))) struct ScopeTests {
  private struct Own: Error {}

  @Test func `A manager of a scope is shut down when the scope returns`() async throws {
    let manager = try await withTransferManager { $0 }
    #expect(await refusal { _ = try await manager.add(.step("s")) }?.code == .interrupted)
  }

  @Test func `A manager of a scope is shut down when the scope throws`() async throws {
    var kept: TransferManager?
    await #expect(throws: Own.self) {
      try await withTransferManager { manager in
        kept = manager
        throw Own()
      }
    }
    let manager = try #require(kept)
    #expect(await refusal { _ = try await manager.add(.step("s")) }?.code == .interrupted)
  }

  @Test func `A list of a scope is continued in the next scope`() async throws {
    try await DownloadFixture.with([]) { fixture in
      let directory = fixture.path("list")
      try await withTransferManager(directory: directory) { manager in
        await manager.suspend()
        _ = try await manager.add(.step("later"))
      }
      let left = try await withTransferManager(directory: directory) { await $0.counts }
      #expect(left.values.reduce(0, +) == 1)
    }
  }

  @Test func `A manager without references releases its directory`() async throws {
    try await DownloadFixture.with([]) { fixture in
      let directory = fixture.path("list")
      var manager: TransferManager? = try await TransferManager(directory: directory)
      let early = await refusal { _ = try await TransferManager(directory: directory) }
      #expect(early?.code == .inUse)
      withExtendedLifetime(manager) {}
      manager = nil
      try await until {
        await refusal { try await withTransferManager(directory: directory) { _ in } } == nil
      }
    }
  }
}
