import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// The production manager and network on a simulated disk, where the process may die anywhere.
@Suite(.timeLimit(.minutes(2))) struct PublicationCrashTests {
  private static let path = "/d"
  private static let length = 200_000

  /// Downloads into the directory, in a separate process; the download may fail with the disk.
  private func download(_ request: DownloadRequest, on machine: SimulatedMachine) async throws {
    let transport = try HTTPTransport(HTTPTransport.Settings())
    var configuration = TransferManager.Configuration()
    // To a dead process, its file system looks unmounted.
    configuration.waitsForDisk = false
    let manager = TransferManager(
      engine: Engine(
        transport: transport, disk: machine.startProcess(), io: .inline, clock: SystemClock(),
        configuration: configuration))
    let events = manager.events()
    try await manager.add(request)
    for await event in events {
      if case .finished = event.kind { break }
    }
    await manager.shutdown()
    await transport.shutdown()
    machine.killProcesses()
  }

  @Test(
    "A numbered file that was published when the process died is not downloaded again",
    arguments: [DownloadRequest.Durability.strict, .relaxed])
  func numbered(durability: DownloadRequest.Durability) async throws {
    let file = FaultScript.Resource("/f.bin", seed: 9, length: Int64(Self.length))
    try await DownloadFixture.with([file]) { fixture in
      var published = 0
      for change in 1...30 {
        let machine = SimulatedMachine(seed: 1)
        machine.plant([1, 2, 3], as: "f.bin", in: Self.path, mode: 0o644)
        let request = try fixture.request("/f.bin").with {
          $0.destination = .directory(Self.path)
          $0.ifExists = .rename
          $0.durability = durability
          $0.retry.retries = 0
        }
        machine.crash(afterChanges: change)
        try await download(request, on: machine)
        if machine.contents(of: "f (1).bin", in: Self.path) != nil { published += 1 }
        let wasLeft = machine.names(in: Self.path).contains("f (1).bin.haul.journal")
        machine.crash(afterChanges: nil)
        try await download(request, on: machine)
        let isSecond = machine.names(in: Self.path).contains("f (2).bin")
        // A file that was complete before belongs to another download.
        if wasLeft || machine.names(in: Self.path).contains(where: { $0.contains(".haul.") }) {
          #expect(!isSecond, "change \(change)")
          #expect(machine.names(in: Self.path) == ["f (1).bin", "f.bin"], "change \(change)")
          let bytes = try #require(machine.contents(of: "f (1).bin", in: Self.path))
          #expect(bytes.count == Self.length)
          #expect(SeededContent.matches(seed: 9, bytes, at: 0), "change \(change)")
        }
      }
      #expect(published > 0)
    }
  }
}
