import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Uploads to a tus server in memory, judged by what the server has.
@Suite(.timeLimit(.minutes(10))) struct TusUploadTests {
  private static let part = 16 << 20
  private static let length = 4 * part
  private static let content = SeededContent(seed: 9).bytes(at: 0, count: length)

  private static func request() throws -> TransferRequest {
    .upload("/d/f", to: try ResourceURL("http://h.example/files/")) { $0.method = .tus }
  }

  private static func disk() -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.makeDirectory("/u")
    disk.put(content, at: "/d/f")
    return disk
  }

  private static func manager(
    _ server: FakeTus, _ disk: SimulatedDisk
  ) throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    var ports = PortOverrides(transport: server)
    (ports.disk, ports.clock, ports.network) = (disk, server.clock, UnknownNetwork())
    return try TransferManager(configuration, replacing: ports)
  }

  /// Runs one upload to its end.
  private func upload(to server: FakeTus, from disk: SimulatedDisk) async throws -> TransferResult {
    let manager = try Self.manager(server, disk)
    let transfer = try await Self.run(manager, server)
    let result = try await transfer.result
    await manager.shutdown()
    return result
  }

  /// Adds the upload; returns when it has ended. Each retry is due at once.
  private static func run(
    _ manager: TransferManager, _ server: FakeTus
  ) async throws -> Transfer {
    let events = manager.events()
    let transfer = try await manager.add(try request())
    for await event in events {
      if case .attempt(_, _, let delay) = event.kind { server.clock.advance(by: delay) }
      if case .finished = event.kind { break }
    }
    return transfer
  }

  /// Runs one upload that fails.
  private func failure(
    to server: FakeTus, from disk: SimulatedDisk
  ) async throws -> TransferError {
    let manager = try Self.manager(server, disk)
    let transfer = try await Self.run(manager, server)
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    return try #require(error)
  }

  @Test func `A large file is sent in parts at once, with checksums, and is one file`() async throws
  {
    let (server, disk) = (FakeTus(), Self.disk())
    server.change { $0.barrier = RequestBarrier(of: 2, "PATCH") }
    let result = try await upload(to: server, from: disk)
    #expect((result.state, result.fetched) == (.completed, Int64(Self.length)))
    let state = server.snapshot
    #expect(state.files == [Self.content])
    #expect(state.mostOpen <= 4)
    let appends = state.requests.filter { $0.method == "PATCH" }
    #expect(appends.count == 4)
    #expect(appends.allSatisfy { $0.headers["Upload-Checksum"] != nil })
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A server without the extensions gets the file in one request`() async throws {
    let server = FakeTus("creation")
    #expect(try await upload(to: server, from: Self.disk()).state == .completed)
    let state = server.snapshot
    #expect(state.files == [Self.content])
    #expect(state.requests.map(\.method) == ["OPTIONS", "POST", "PATCH"])
  }

  @Test func `Bytes that arrive damaged are sent again, and no others`() async throws {
    let server = FakeTus { request, state in
      request.method == "PATCH" && !state.requests.contains { $0.method == "PATCH" }
        ? .damaged : nil
    }
    let result = try await upload(to: server, from: Self.disk())
    #expect(result.state == .completed)
    #expect(result.fetched == Int64(Self.length + Self.part))
    #expect(server.snapshot.files == [Self.content])
  }

  @Test func `A part whose connection is lost continues where the server says`() async throws {
    let server = FakeTus("creation,concatenation") { request, state in
      request.method == "PATCH" && !state.requests.contains { $0.method == "PATCH" }
        ? .cut(1 << 20) : nil
    }
    let result = try await upload(to: server, from: Self.disk())
    #expect(result.state == .completed)
    #expect(server.snapshot.files == [Self.content])
    let offsets = server.snapshot.requests.compactMap { $0.headers["Upload-Offset"] }
    #expect(offsets.sorted() == ["0", "0", "0", "0", "\(1 << 20)"])
  }

  @Test func `The next run sends only what the server lacks of each part`() async throws {
    let disk = Self.disk()
    let isHeld = NIOLockedValueBox(true)
    let server = FakeTus { request, _ in
      request.method == "PATCH" && request.number == 3 && isHeld.withLockedValue { $0 }
        ? .held : nil
    }
    let first = try Self.manager(server, disk)
    let transfer = try await first.add(try Self.request())
    try await until {
      let state = server.snapshot
      let isOpen = state.requests.contains { $0.method == "PATCH" && $0.number == 3 }
      return isOpen && state.uploads.values.count { $0.bytes.count == Self.part } == 3
    }
    try await transfer.pause()
    await first.shutdown()
    #expect(disk.names(in: "/u").count == 1)

    isHeld.withLockedValue { $0 = false }
    let result = try await upload(to: server, from: disk)
    #expect(result.state == .completed)
    #expect(result.fetched == Int64(Self.part))
    #expect(result.reused == Int64(3 * Self.part))
    #expect(server.snapshot.files == [Self.content])
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A lost answer to the joining makes no second file unnoticed`() async throws {
    let disk = Self.disk()
    let server = FakeTus { request, state in
      request.isJoining && !state.requests.contains { $0.isJoining } ? .answerLost : nil
    }
    let error = try await failure(to: server, from: disk)
    #expect(error.message.contains("the server may have the whole file"))
    #expect(server.snapshot.requests.count { $0.isJoining } == 1)
    #expect(server.snapshot.files == [Self.content])

    // Another run all the same makes a file that this run knows, without sending a byte.
    let result = try await upload(to: server, from: disk)
    #expect((result.state, result.fetched) == (.completed, 0))
    #expect(server.snapshot.files.count == 2)
  }

  @Test func `A cancelled upload leaves no part on the server`() async throws {
    let disk = Self.disk()
    let server = FakeTus { request, _ in request.method == "PATCH" ? .held : nil }
    let manager = try Self.manager(server, disk)
    let transfer = try await manager.add(try Self.request())
    try await until { server.snapshot.requests.count { $0.method == "PATCH" } > 1 }
    try await transfer.cancel()
    try await until { server.snapshot.uploads.isEmpty }
    await manager.shutdown()
    #expect(disk.names(in: "/u").isEmpty)
  }
}
