import HaulKit
import HaulTesting
import Testing

/// `HaulTesting` in the tests of users.
@Suite(.timeLimit(.minutes(10))) struct TestKitTests {
  private static let file = FaultScript.Resource("/f", seed: 5, length: 100_000)

  /// Downloads the file to a disk with its own manager.
  private func download(
    from server: FaultServer, to disk: SimulatedDisk
  ) async throws -> TransferResult {
    var configuration = TransferManager.Configuration()
    configuration.waitsForDisk = false
    let manager = try TransferManager(testing: configuration, disk: disk)
    let transfer = try await manager.add(
      .download(try server.resourceURL("/f"), to: .directory("/d")))
    var result: TransferResult?
    for await event in transfer.events() {
      if case .finished(let end) = event.kind { result = end }
    }
    await manager.shutdown()
    return try #require(result)
  }

  @Test func `A finished file survives a power cut of the simulated disk`() async throws {
    try await withFaultServer([Self.file]) { server in
      let disk = SimulatedDisk(seed: 3)
      let first = try await download(from: server, to: disk)
      #expect(first.state == .completed)
      #expect(disk.names(in: "/d") == ["f"])
      let next = disk.afterPowerLoss()
      let isThere = next.contents(of: "/d/f") == Self.file.content
      #expect(isThere)
    }
  }

  @Test func `The simulated disk has the files and the capacity that the test sets`() async throws {
    try await withFaultServer([Self.file]) { server in
      let disk = SimulatedDisk()
      disk.put([1, 2, 3], at: "/d/f")
      disk.setCapacity(50_000)
      let full = try await download(from: server, to: disk)
      #expect(full.error?.code == .diskFull)
      disk.setCapacity(nil)
      let again = try await download(from: server, to: disk)
      #expect(again.path == "/d/f (1)")
      #expect(disk.contents(of: "/d/f") == [1, 2, 3])
    }
  }

  @Test func `Faults apply as often as requested, and each request is recorded`() async throws {
    var file = Self.file
    file.faults = [.ignoreRange(times: 1)]
    try await withFaultServer([file]) { server in
      let whole = try await download(from: server, to: SimulatedDisk())
      #expect(whole.state == .completed)
      server.setFaults("/f", [.redirect(to: "\(server.origin)/g", times: 1)])
      server.add(FaultScript.Resource("/g", seed: 5, length: 100_000))
      let redirected = try await download(from: server, to: SimulatedDisk())
      #expect(redirected.state == .completed)
      #expect(server.requests.map(\.path) == ["/f", "/f", "/g"])
      #expect(server.requests.map(\.status) == [200, 302, 206])
      #expect(server.requests.allSatisfy { $0.range != nil && $0.header("Accept-Encoding") != nil })
    }
  }
}
