import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import Testing

/// `--if-exists skip` and `update` with whole runs, judged by what the servers have.
@Suite(.timeLimit(.minutes(10))) struct IncrementalUploadTests {
  private static func disk(_ files: [String: [UInt8]]) -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.makeDirectory("/u")
    for (name, bytes) in files { disk.put(bytes, at: "/d/\(name)") }
    return disk
  }

  private static func content(_ seed: UInt64, _ count: Int = 100) -> [UInt8] {
    SeededContent(seed: seed).bytes(at: 0, count: count)
  }

  private static func object(
    _ name: String, _ ifExists: UploadRequest.IfExists
  ) throws -> TransferRequest {
    let object = try S3Object(
      bucket: "b", key: name, endpoint: try ResourceURL("http://h.example"))
    var upload = UploadRequest(
      "/d/\(name)", to: object,
      credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))
    upload.ifExists = ifExists
    return TransferRequest(.upload(upload))
  }

  /// Runs these uploads to their ends.
  private func run(
    _ requests: [TransferRequest], to transport: any Transport, from disk: SimulatedDisk,
    clock: ManualClock? = nil
  ) async throws -> [TransferResult] {
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    let manager = try TransferManager(
      testing: configuration, transport: transport, disk: disk, clock: clock)
    let transfers = try await manager.add(requests)
    var results: [TransferResult] = []
    for transfer in transfers { results.append(try await transfer.result) }
    await manager.shutdown()
    return results
  }

  @Test(arguments: [true, false])
  func `Five hundred unchanged objects are only asked for, several at once`(
    statesChecksums: Bool
  ) async throws {
    let names = (0..<500).map { "f\($0)" }
    var files: [String: [UInt8]] = [:]
    for (index, name) in names.enumerated() { files[name] = Self.content(UInt64(index)) }
    let (store, disk) = (FakeS3(), Self.disk(files))
    store.change { $0.statesChecksums = statesChecksums }
    let requests = try names.map { try Self.object($0, .update) }
    _ = try await run(requests, to: store, from: disk)
    store.change { ($0.requests, $0.barrier) = ([], RequestBarrier(of: 2, "HEAD")) }
    let results = try await run(requests, to: store, from: disk)
    #expect(store.snapshot.requests.map(\.method) == Array(repeating: "HEAD", count: 500))
    for result in results {
      #expect((result.fetched, result.reused, result.bytes) == (0, 100, 100))
      #expect(result.verified == .checksum)
    }
    // One of the same length changes.
    disk.put(Self.content(999), at: "/d/f7")
    store.change { $0.requests = [] }
    _ = try await run(requests, to: store, from: disk)
    let sent = store.snapshot.requests.filter { $0.method != "HEAD" }
    #expect(sent.map(\.path) == ["/b/f7"] && sent.first?.headers["If-Match"] != nil)
    #expect(store.snapshot.objects["/b/f7"]?.bytes == Self.content(999))
  }

  @Test func `An object is skipped whatever it is, and one that is missing is sent`() async throws {
    let (store, disk) = (FakeS3(), Self.disk(["f": Self.content(1), "g": Self.content(2)]))
    _ = try await run([try Self.object("f", .overwrite)], to: store, from: disk)
    disk.put(Self.content(3, 70), at: "/d/f")
    let results = try await run(
      [try Self.object("f", .skip), try Self.object("g", .skip)], to: store, from: disk)
    #expect(store.snapshot.objects["/b/f"]?.bytes == Self.content(1))
    #expect(store.snapshot.objects["/b/g"]?.bytes == Self.content(2))
    #expect(results.map(\.fetched) == [0, 100] && results.map(\.bytes) == [100, 100])
    #expect(results.map(\.verified) == [nil, .checksum] && results[0].reused == 100)
  }

  @Test func `A key that may not look skips what the store refuses to replace`() async throws {
    let store = FakeS3 { request, _ in request.method == "HEAD" ? .answer(403, "") : nil }
    let disk = Self.disk(["f": Self.content(1)])
    _ = try await run([try Self.object("f", .overwrite)], to: store, from: disk)
    disk.put(Self.content(2), at: "/d/f")
    let result = try await run([try Self.object("f", .skip)], to: store, from: disk)[0]
    #expect(store.snapshot.objects["/b/f"]?.bytes == Self.content(1))
    #expect(result.state == .completed && result.verified == nil && !result.isAdopted)
    // Nothing shows that it is the same, so it is sent.
    _ = try await run([try Self.object("f", .update)], to: store, from: disk)
    #expect(store.snapshot.objects["/b/f"]?.bytes == Self.content(2))
  }

  @Test(arguments: [UploadRequest.Method.put, .webDAV])
  func `Length and date keep a file, by the server's own clock, without reading it`(
    method: UploadRequest.Method
  ) async throws {
    let files = FakeFiles(FakeSource(1, to: FakeS3()), statesDigests: false)
    let (disk, clock) = (Self.disk(["f": Self.content(1)]), ManualClock(wallStart: 10_000))
    // Its clock is a day fast.
    files.change { $0.clock = 96_400 }
    var upload = UploadRequest("/d/f", to: try ResourceURL("http://h.example/d/f"))
    (upload.method, upload.ifExists) = (method, .update)
    let request = TransferRequest(.upload(upload))
    let first = try await run([request], to: files, from: disk, clock: clock)[0]
    #expect(first.fetched == 100 && files.snapshot.files["/d/f"]?.bytes == Self.content(1))
    clock.adjustWallClock(by: 60)
    files.change { ($0.clock, $0.requests) = (96_460, []) }
    let second = try await run([request], to: files, from: disk, clock: clock)[0]
    #expect(files.snapshot.requests == [method == .put ? "HEAD /d/f" : "PROPFIND /d/f"])
    #expect((second.fetched, second.reused, second.verified) == (0, 100, .length))
    // It was stored before the file here changed.
    disk.put(Self.content(2), at: "/d/f")
    files.change { $0.clock = 1_000_000 }
    let third = try await run([request], to: files, from: disk, clock: clock)[0]
    #expect(third.fetched == 100 && files.snapshot.files["/d/f"]?.bytes == Self.content(2))
  }

  @Test func `A digest that the server states finds a change that the date does not show`()
    async throws
  {
    let files = FakeFiles(FakeSource(1, to: FakeS3()))
    let (disk, clock) = (Self.disk(["f": Self.content(1)]), ManualClock(wallStart: 10_000))
    files.change { $0.clock = 10_000 }
    var upload = UploadRequest("/d/f", to: try ResourceURL("http://h.example/d/f"))
    upload.ifExists = .update
    let request = TransferRequest(.upload(upload))
    _ = try await run([request], to: files, from: disk, clock: clock)
    let same = try await run([request], to: files, from: disk, clock: clock)[0]
    #expect((same.fetched, same.verified, same.checksums.count) == (0, .checksum, 1))
    disk.put(Self.content(2), at: "/d/f")
    _ = try await run([request], to: files, from: disk, clock: clock)
    #expect(files.snapshot.files["/d/f"]?.bytes == Self.content(2))
  }

  @Test(arguments: [UploadRequest.Method.post, .tus])
  func `Where the server chooses the place, nothing can be compared`(
    method: UploadRequest.Method
  ) async throws {
    var upload = UploadRequest("/d/f", to: try ResourceURL("http://h.example/d/"))
    (upload.method, upload.ifExists) = (method, .skip)
    let error = await #expect(throws: TransferError.self) {
      try await run(
        [TransferRequest(.upload(upload))], to: FakeS3(), from: Self.disk(["f": Self.content(1)]))
    }
    #expect(error?.code == .notYetSupported && error?.message.contains("decides") == true)
  }
}
