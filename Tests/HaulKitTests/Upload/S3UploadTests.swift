import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Uploads to an S3 store in memory, judged by what the store has.
@Suite(.timeLimit(.minutes(10))) struct S3UploadTests {
  private static let path = "/b/k"
  private static let part = 16 << 20

  private static func content(_ length: Int) -> [UInt8] {
    SeededContent(seed: 9).bytes(at: 0, count: length)
  }

  private static func request(
    at endpoint: String = "http://h.example", _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> TransferRequest {
    let object = try S3Object(bucket: "b", key: "k", endpoint: try ResourceURL(endpoint))
    var upload = UploadRequest(
      "/d/f", to: object,
      credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret", sessionToken: "t"))
    change(&upload)
    return TransferRequest(.upload(upload))
  }

  private static func disk(_ length: Int) -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.makeDirectory("/u")
    disk.put(content(length), at: "/d/f")
    return disk
  }

  private static func manager(
    _ store: FakeS3, _ disk: SimulatedDisk, proxies: ProxyRules = ProxyRules()
  ) throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    configuration.proxies = proxies
    return try TransferManager(testing: configuration, transport: store, disk: disk)
  }

  /// Runs one upload to its end.
  private func upload(
    _ length: Int, to store: FakeS3, from disk: SimulatedDisk? = nil,
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> TransferResult {
    let manager = try Self.manager(store, disk ?? Self.disk(length))
    let result = try await manager.add(try Self.request(change)).result
    await manager.shutdown()
    return result
  }

  /// Runs one upload that fails.
  private func failure(
    _ length: Int, to store: FakeS3, from disk: SimulatedDisk? = nil,
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> TransferError {
    let manager = try Self.manager(store, disk ?? Self.disk(length))
    let transfer = try await manager.add(try Self.request(change))
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    return try #require(error)
  }

  /// The numbers of the parts that arrived, in order.
  private static func parts(_ store: FakeS3) -> [Int] {
    store.snapshot.requests.compactMap(\.part).sorted()
  }

  @Test(arguments: [
    0, 1, (5 << 20) - 1, 5 << 20, (5 << 20) + 1, 16 << 20, (16 << 20) + 1, 32 << 20, 33 << 20,
  ])
  func `The store has the file, byte for byte, and no unfinished upload`(length: Int) async throws {
    let (store, disk) = (FakeS3(), Self.disk(length))
    let result = try await upload(length, to: store, from: disk)
    #expect(result.state == .completed)
    #expect(result.fetched == Int64(length))
    // The store has computed it of what it has.
    #expect(result.verified == .checksum)
    #expect(result.checksums.map(\.algorithm) == [.crc32c])
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(length))
    #expect(store.snapshot.uploads.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test(arguments: [
    ("http://h.example", nil, true), ("http://127.0.0.1", nil, false),
    ("http://127.0.0.1", "http://p.example:1", true), ("https://h.example", nil, false),
  ])
  func `The bytes are signed where somebody on the way may change them`(
    endpoint: String, proxy: String?, isSigned: Bool
  ) async throws {
    let store = FakeS3()
    let manager = try Self.manager(
      store, Self.disk(5), proxies: ProxyRules(try proxy.map { try ProxyRules.Proxy($0) }))
    let result = try await manager.add(try Self.request(at: endpoint)).result
    await manager.shutdown()
    #expect(result.state == .completed)
    let signed = store.snapshot.requests.last?.headers["X-Amz-Content-SHA256"]
    #expect(
      signed == (isSigned ? Self.sha256(Self.content(5)) : "UNSIGNED-PAYLOAD"))
  }

  private static func sha256(_ bytes: [UInt8]) -> String {
    var digest = IncrementalDigest([.sha256])
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.checksums[0].hex
  }

  @Test func `Parts are sent at once, four at most`() async throws {
    let store = FakeS3()
    store.change { $0.barrier = RequestBarrier(of: 2, "PUT") }
    let result = try await upload(100 << 20, to: store)
    #expect(result.state == .completed)
    #expect(Self.parts(store) == Array(1...7))
    #expect(store.snapshot.mostOpen <= 4)
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(100 << 20))
  }

  @Test func `After a pause only the missing parts are sent`() async throws {
    let disk = Self.disk(48 << 20)
    let isHeld = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      request.part == 3 && isHeld.withLockedValue { $0 } ? .held : nil
    }
    let first = try Self.manager(store, disk)
    let transfer = try await first.add(try Self.request())
    try await until {
      let state = store.snapshot
      return state.uploads["u1"]?.parts.count == 2 && state.requests.count { $0.part == 3 } == 1
    }
    try await transfer.pause()
    await first.shutdown()
    #expect(disk.names(in: "/u").count == 1)

    isHeld.withLockedValue { $0 = false }
    let result = try await upload(48 << 20, to: store, from: disk)
    #expect(result.state == .completed)
    #expect(result.fetched == Int64(Self.part))
    #expect(result.reused == Int64(2 * Self.part))
    #expect(Self.parts(store) == [1, 2, 3, 3])
    #expect(store.snapshot.uploadCount == 1)
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(48 << 20))
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A lost answer to the completion makes no second object`() async throws {
    let store = FakeS3 { request, state in
      request.method == "POST" && request.names == ["uploadId"]
        && !state.requests.contains { $0.method == "POST" && $0.names == ["uploadId"] }
        ? .answerLost : nil
    }
    let result = try await upload(33 << 20, to: store)
    #expect(result.state == .completed)
    #expect(store.snapshot.uploadCount == 1)
    #expect(Self.parts(store) == [1, 2, 3])
  }

  @Test func `A part whose answer is lost is sent again, and no other`() async throws {
    let store = FakeS3 { request, state in
      request.part == 2 && !state.requests.contains { $0.part == 2 } ? .answerLost : nil
    }
    let result = try await upload(48 << 20, to: store)
    #expect(result.state == .completed)
    #expect(Self.parts(store) == [1, 2, 2, 3])
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(48 << 20))
  }

  @Test(arguments: [false, true])
  func `A part that arrives damaged is sent again, with its MD5`(knowsChecksums: Bool)
    async throws
  {
    let store = FakeS3 { request, state in
      request.part == 6 && !state.requests.contains { $0.part == 6 } ? .damaged : nil
    }
    store.change { $0.knowsChecksums = knowsChecksums }
    let result = try await upload(100 << 20, to: store)
    #expect(result.state == .completed)
    #expect(Self.parts(store) == [1, 2, 3, 4, 5, 6, 6, 7])
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(100 << 20))
    let sent = store.snapshot.requests.filter { $0.part == 6 }
    #expect(sent.map { $0.headers["Content-MD5"] != nil } == [false, !knowsChecksums])
  }

  @Test func `A key that may not list or delete parts sends the file again`() async throws {
    let isDown = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      if request.part == 2, isDown.withLockedValue({ $0 }) { return .lost }
      return ["GET", "DELETE"].contains(request.method)
        ? .answer(403, FakeS3.error("AccessDenied")) : nil
    }
    let disk = Self.disk(33 << 20)
    _ = try await failure(33 << 20, to: store, from: disk) { $0.retry.retries = 0 }
    isDown.withLockedValue { $0 = false }
    let result = try await upload(33 << 20, to: store, from: disk)
    #expect(result.state == .completed)
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(33 << 20))
    // The parts of the first upload stay: nobody but the owner of the store can delete them.
    #expect((store.snapshot.uploadCount, store.snapshot.uploads.count) == (2, 1))
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A success with an error in its body does not complete the upload`() async throws {
    let store = FakeS3 { request, _ in
      request.method == "POST" && request.names == ["uploadId"]
        ? .answer(200, "  <Error><Code>InternalError</Code></Error>") : nil
    }
    let error = try await failure(17 << 20, to: store) { $0.retry.retries = 1 }
    #expect(error.message.contains("InternalError"))
    #expect(store.snapshot.objects.isEmpty)
    // The parts stay, for the next run.
    #expect(store.snapshot.uploads.count == 1)
  }

  @Test func `A cancelled upload leaves no parts on the store`() async throws {
    let store = FakeS3 { request, _ in request.part == 2 ? .held : nil }
    let disk = Self.disk(33 << 20)
    let manager = try Self.manager(store, disk)
    let transfer = try await manager.add(try Self.request())
    try await until { store.snapshot.requests.contains { $0.part == 2 } }
    try await transfer.cancel()
    try await until { store.snapshot.uploads.isEmpty }
    await manager.shutdown()
    #expect(store.snapshot.uploads.isEmpty)
    #expect(store.snapshot.objects.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `Parts that a cancel cannot delete stay on record`() async throws {
    let isDown = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      if request.method == "DELETE" { return isDown.withLockedValue { $0 } ? .lost : nil }
      return request.part == 2 && isDown.withLockedValue { $0 } ? .held : nil
    }
    let disk = Self.disk(33 << 20)
    let manager = try Self.manager(store, disk)
    let transfer = try await manager.add(try Self.request())
    try await until {
      let state = store.snapshot
      return state.uploads["u1"]?.parts.count == 2 && state.requests.contains { $0.part == 2 }
    }
    try await transfer.cancel()
    await manager.shutdown()
    #expect(store.snapshot.uploads.count == 1)

    isDown.withLockedValue { $0 = false }
    let result = try await upload(33 << 20, to: store, from: disk)
    #expect(result.state == .completed)
    #expect(store.snapshot.uploadCount == 1)
    #expect(store.snapshot.uploads.isEmpty)
  }

  @Test(arguments: [false, true])
  func `Parts that a cancel cannot delete are deleted later, also after a restart`(
    restarts: Bool
  ) async throws {
    let isDown = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      if request.method == "DELETE" { return isDown.withLockedValue { $0 } ? .lost : nil }
      return request.part == 2 ? .held : nil
    }
    let (disk, clock, list) = (Self.disk(33 << 20), ManualClock(), MemoryStore())
    func open() async throws -> TransferManager {
      var configuration = TransferManager.Configuration()
      configuration.uploadDirectory = "/u"
      var ports = PortOverrides(transport: store)
      (ports.disk, ports.clock, ports.network) = (disk, clock, UnknownNetwork())
      return try await TransferManager(configuration, replacing: ports, steps: [:]) { _ in
        OpenedStore(store: list)
      }
    }
    var manager = try await open()
    let transfer = try await manager.add(try Self.request())
    try await until { store.snapshot.requests.contains { $0.part == 2 } }
    try await transfer.remove()
    try await until { (try? await list.open().pendingAborts.map(\.id)) == [transfer.id] }
    #expect(store.snapshot.uploads.count == 1)

    isDown.withLockedValue { $0 = false }
    if restarts {
      await manager.shutdown()
      manager = try await open()
    } else {
      try await until { clock.wakeUps.contains(.seconds(60)) }
      clock.advance(by: .seconds(60))
    }
    try await until { store.snapshot.uploads.isEmpty }
    try await until { (try? await list.open().pendingAborts) == [] }
    #expect(disk.names(in: "/u").isEmpty)
    await manager.shutdown()
  }

  @Test func `A file that changes while its parts are sent makes no object`() async throws {
    let disk = Self.disk(33 << 20)
    let store = FakeS3 { request, _ in
      if request.part == 3 { disk.put([1, 2, 3], at: "/d/f") }
      return nil
    }
    let error = try await failure(33 << 20, to: store, from: disk)
    #expect(error.code == .sourceChanged)
    #expect(store.snapshot.objects.isEmpty)
    #expect(store.snapshot.uploads.isEmpty)
  }

  @Test func `An object that must not be there is not replaced`() async throws {
    let store = FakeS3()
    store.change { $0.objects[Self.path] = ([7], HeaderFields()) }
    let error = try await failure(33 << 20, to: store) { $0.precondition = .absent }
    #expect(error.code == .nameConflict)
    #expect(store.snapshot.objects[Self.path]?.bytes == [7])
    #expect(store.snapshot.requests.map(\.method) == ["HEAD"])
  }

  @Test func `Every request is signed, with the session token; none has the secret`() async throws {
    let store = FakeS3()
    _ = try await upload(17 << 20, to: store)
    let requests = store.snapshot.requests
    #expect(requests.count == 4)
    for request in requests {
      #expect(request.headers["X-Amz-Security-Token"] == "t")
      #expect(request.headers["Authorization"]?.contains("Credential=id/") == true)
      #expect(!request.headers.contains { $0.value.contains("secret") })
    }
  }
}
