import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// The meaning of the numbers in a configuration.
@Suite(.timeLimit(.minutes(10))) struct ConfiguredLimitTests {
  @Test func `With a limit of 0, nothing starts until the limit is raised`() async throws {
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = 0
    try await withTransferManager(configuration) { manager in
      manager.register(step: "s") { _ in }
      let step = try await manager.add(.step("s"))
      // It would have begun with the commit of the added transfer.
      #expect(await step.summary?.state == .queued)
      await manager.setLimits(maximumActive: 1)
      #expect(try await step.result.state == .completed)
    }
  }

  @Test(arguments: [nil, 0, 2])
  func `A host's limit applies, and without one all its transfers start`(cap: Int?) async throws {
    let names = (0..<5).map { "/\($0)" }
    let held = names.map {
      FaultScript.Resource($0, seed: 1, length: 1000, faults: [Fault(.stall(after: 10))])
    }
    try await DownloadFixture.with(held) { fixture in
      var configuration = TransferManager.Configuration()
      configuration.maximumActive = 5
      configuration.maximumActivePerHost = cap
      try await withTransferManager(configuration) { manager in
        let added = try await manager.add(
          names.map { TransferRequest(.download(try fixture.request($0))) })
        for name in names.prefix(cap ?? 5) { try await fixture.server.waitForHeld(name) }
        var running = 0
        for transfer in added where await transfer.summary?.state == .running { running += 1 }
        #expect(running == cap ?? 5)
      }
    }
  }

  @Test(arguments: [true, false])
  func `The directory of an exact path is created only on request`(creates: Bool) async throws {
    try await DownloadFixture.with([FaultScript.Resource("/a", seed: 1, length: 10)]) { fixture in
      var configuration = TransferManager.Configuration()
      configuration.waitsForDisk = false
      try await withTransferManager(configuration) { manager in
        var request = try fixture.request("/a", as: "new/deep/a")
        request.createsDirectories = creates
        let transfer = try await manager.add(TransferRequest(.download(request)))
        let error = await refusal { _ = try await transfer.result }
        #expect((error == nil) == creates, "\(String(describing: error))")
      }
    }
  }
}
