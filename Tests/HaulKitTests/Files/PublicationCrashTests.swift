import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// The production manager and network on a simulated disk, where the process may die anywhere.
@Suite(.timeLimit(.minutes(10))) struct PublicationCrashTests {
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
        transport: transport, disk: machine.startProcess(), io: .withoutThreads,
        clock: SystemClock(),
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

  @Test(arguments: [DownloadRequest.Durability.strict, .relaxed])
  func `A numbered file that was published when the process died is not downloaded again`(
    durability: DownloadRequest.Durability
  ) async throws {
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

  @Test(arguments: [DownloadRequest.IfExists.overwrite, .rename, .update])
  func `A file that another download published when the process died is not taken for this one's`(
    ifExists: DownloadRequest.IfExists
  ) async throws {
    let files = [(9, "/a"), (10, "/b")].map { (seed, path) in
      // A shorter file has no journal.
      FaultScript.Resource(path, seed: UInt64(seed), length: 1_200_000)
    }
    try await DownloadFixture.with(files) { fixture in
      var (change, left, ended) = (0, 0, 0)
      // How many changes a download makes depends on its time: one that ended too soon is repeated.
      while left == 0 || ended == 0, ended < 50 {
        change += 1
        let machine = SimulatedMachine(seed: 1)
        machine.plant([1], as: "other", in: Self.path, mode: 0o644)
        let requests = try ["/a", "/b"].map { path in
          try fixture.request(path).with {
            $0.destination = .file("\(Self.path)/f.bin")
            $0.ifExists = ifExists
            $0.retry.retries = 0
          }
        }
        machine.crash(afterChanges: change)
        try await download(requests[0], on: machine)
        machine.crash(afterChanges: nil)
        let names = machine.names(in: Self.path)
        guard names.contains("f.bin") else { continue }
        guard names.contains("f.bin.haul.journal") else {
          (change, ended) = (max(0, change - 3), ended + 1)
          continue
        }
        left += 1
        try await download(requests[1], on: machine)
        let isReplaced = ifExists == .overwrite
        let bytes = try #require(machine.contents(of: "f.bin", in: Self.path))
        #expect(SeededContent.matches(seed: isReplaced ? 10 : 9, bytes, at: 0), "\(change)")
        if ifExists == .rename {
          let other = try #require(machine.contents(of: "f (1).bin", in: Self.path))
          #expect(SeededContent.matches(seed: 10, other, at: 0), "\(change)")
        }
      }
      #expect(left > 0)
    }
  }
}
