import FoundationEssentials
import HaulCore
import HaulKit
import HaulStore
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Paths in requests.
@Suite(.timeLimit(.minutes(10))) struct PathTests {
  private func code(_ body: () async throws -> Void) async throws -> TransferError.Code? {
    do {
      try await body()
      return nil
    } catch let error as TransferError {
      return error.code
    }
  }

  @Test func `A stored list has absolute paths, independent of the next working directory`()
    async throws
  {
    try await DownloadFixture.with([]) { fixture in
      var configuration = TransferManager.Configuration()
      configuration.isSuspended = true
      let here = FileManager.default.currentDirectoryPath
      let manager = try await TransferManager(
        directory: fixture.path("queue"), configuration)
      let url = try ResourceURL("http://127.0.0.1:1/f")
      try await manager.add([
        .download(url, to: .file("d/f")), .download(url, to: .directory("d")),
        .step(program: ["true"]),
      ])
      let last = try await manager.add(.download(url, to: .file("/d/g")))
      try await last.set { $0.download?.destination = .file("g") }
      await manager.shutdown()
      let next = try await TransferManager(
        directory: fixture.path("queue"), configuration)
      let requests = NIOLockedValueBox<[TransferRequest]>([])
      _ = try await next.set(.all) { request in
        requests.withLockedValue { [request] in $0.append(request) }
      }
      let found = requests.withLockedValue { $0 }
      #expect(
        found.compactMap(\.download?.destination) == [
          .file("\(here)/d/f"), .directory("\(here)/d"), .file("\(here)/g"),
        ])
      #expect(
        found.map(\.work).contains(TransferRequest.step(program: ["true"], in: here).work))
      await next.shutdown()
    }
  }

  @Test func `A NUL is refused in every path`() async throws {
    try await DownloadFixture.with([.plain("f")]) { fixture in
      let manager = try TransferManager()
      let file = try fixture.request("/f", as: "f")
      var bad = file
      bad.destination = .file(fixture.path("d\0x"))
      let request = bad
      #expect(
        try await code {
          try await manager.add([file, request].map { TransferRequest(.download($0)) })
        } == .badName)
      #expect(await manager.summaries().isEmpty)
      #expect(
        try await code { _ = try await manager.download(TransferRequest(.download(request))) }
          == .badName)
      #expect(try await code { _ = try await manager.probe(request) } == .badName)
      let added = try await manager.add(TransferRequest(.download(file)))
      _ = try await added.result
      #expect(
        try await code { try await added.set { $0.work = .download(request) } } == .badName)
      #expect(
        try await code {
          try await FileVerifier.verify(path: fixture.path("f\0x"), checksums: [])
        } == .badName)
      #expect(
        try await code {
          _ = try await TransferManager(
            directory: fixture.path("q\0x"), TransferManager.Configuration())
        } == .badName)
      var configuration = TransferManager.Configuration()
      configuration.certificateAuthorities = "a\0b"
      let rules = configuration
      #expect(try await code { _ = try TransferManager(rules) } == .badName)
      #expect(try fixture.names() == ["f"])
      await manager.shutdown()
    }
  }
}
