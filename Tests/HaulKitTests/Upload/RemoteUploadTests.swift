import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Uploads of a remote resource to an S3 store, both in memory.
@Suite(.timeLimit(.minutes(10))) struct RemoteUploadTests {
  static let path = "/b/k"
  static let part = 8 << 20

  private static func request(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> TransferRequest {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("http://h.example"))
    var download = DownloadRequest(
      url: try ResourceURL("http://user:source-password@s.example/f?sig=1"), to: .stream)
    download.headers = [("X-Source", "source-field")]
    var upload = UploadRequest(
      from: download, to: object,
      credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret", sessionToken: "t"))
    change(&upload)
    return TransferRequest(.upload(upload))
  }

  static func disk() -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeDirectory("/u")
    return disk
  }

  static func manager(
    _ source: FakeSource, _ disk: SimulatedDisk, clock: ManualClock? = nil
  ) throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    return try TransferManager(
      testing: configuration, transport: source, disk: disk, clock: clock)
  }

  /// Runs one upload to its end.
  func upload(
    _ source: FakeSource, _ disk: SimulatedDisk = disk(), clock: ManualClock? = nil,
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> TransferResult {
    let manager = try Self.manager(source, disk, clock: clock)
    let result = try await manager.add(try Self.request(change)).result
    await manager.shutdown()
    return result
  }

  /// Runs one upload that fails.
  /// - Parameter pauses: how often a second must pass before that.
  func failure(
    _ source: FakeSource, _ disk: SimulatedDisk = disk(), pauses: Int = 0,
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> TransferError {
    let clock = pauses > 0 ? ManualClock() : nil
    let manager = try Self.manager(source, disk, clock: clock)
    let transfer = try await manager.add(try Self.request(change))
    for pause in 0..<pauses {
      try await until { clock?.wakeUps.contains(.seconds(pause + 1)) == true }
      clock?.advance(by: .seconds(1))
    }
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    return try #require(error)
  }

  private static func parts(_ store: FakeS3) -> [Int] {
    store.snapshot.requests.compactMap(\.part).sorted()
  }

  @Test(arguments: [1, part - 1, part, part + 1, 2 * part, 5 * part + 1])
  func `The store has the resource, each byte of which is fetched once`(
    length: Int
  ) async throws {
    let store = FakeS3()
    let (source, disk) = (FakeSource(length, to: store), Self.disk())
    // A small object that takes long is asked for again.
    let result = try await upload(source, disk, clock: ManualClock())
    #expect(result.state == .completed)
    #expect((result.bytes, result.fetched) == (Int64(length), Int64(length)))
    #expect(result.verified == .checksum)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
    #expect(store.snapshot.uploads.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
    // A small one comes with the answer to the first question.
    let ranges = source.snapshot.ranges.dropFirst(length == 1 ? 0 : 1)
    #expect(ranges.map { min($0.count, length) }.reduce(0, +) == length)
    #expect(ranges.allSatisfy { $0.count <= Self.part })
    #expect(source.snapshot.requests.dropFirst().allSatisfy { $0.ifRange == "\"v1\"" })
    #expect(store.snapshot.mostOpen <= 4)
  }

  @Test(arguments: [
    ("f.iso", "text/html; charset=utf-8", true), ("f.iso", "application/octet-stream", false),
    ("f.html", "text/html", false), ("f", "text/html", false), ("f.iso", nil, false),
  ])
  func `A page in place of a file of another kind is no object`(
    name: String, type: String?, isRefused: Bool
  ) async throws {
    let url = try ResourceURL("http://s.example/\(name)")
    for hasRanges in [true, false] {
      let store = FakeS3()
      let text = "<html>Log in"
      let source = FakeSource(text.utf8.count, to: store)
      source.change { ($0.type, $0.text, $0.tag) = (type, text, hasRanges ? $0.tag : nil) }
      if isRefused {
        #expect(try await failure(source) { $0.download?.url = url }.code == .webPage)
      } else {
        #expect(try await upload(source) { $0.download?.url = url }.state == .completed)
      }
      #expect(store.snapshot.objects.isEmpty == isRefused, "\(hasRanges)")
      let proved = try await upload(source) {
        $0.download?.url = url
        $0.download?.checksums = Self.sha256(source.content)
      }
      #expect(proved.state == .completed)
    }
  }

  @Test func `A run after a stop fetches and sends only what the store lacks`() async throws {
    let isHeld = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      request.part == 3 && isHeld.withLockedValue { $0 } ? .held : nil
    }
    let (source, disk) = (FakeSource(3 * Self.part, to: store), Self.disk())
    let first = try Self.manager(source, disk)
    let transfer = try await first.add(try Self.request())
    try await until {
      let state = store.snapshot
      return state.uploads["u1"]?.parts.count == 2 && state.requests.contains { $0.part == 3 }
    }
    try await transfer.pause()
    await first.shutdown()
    let name = try #require(disk.names(in: "/u").first)
    let record = String(decoding: disk.contents(of: "/u/\(name)") ?? [], as: UTF8.self)
    #expect(record.contains("uploadId=u1"))
    for secret in ["source-password", "sig=1", "source-field"] { #expect(!record.contains(secret)) }

    isHeld.withLockedValue { $0 = false }
    source.change { $0.requests = [] }
    let result = try await upload(source, disk)
    #expect(result.state == .completed)
    #expect((result.fetched, result.reused) == (Int64(Self.part), Int64(2 * Self.part)))
    #expect(source.snapshot.ranges.dropFirst() == [Int64(2 * Self.part)..<Int64(3 * Self.part)])
    #expect(Self.parts(store) == [1, 2, 3, 3])
    #expect(store.snapshot.uploadCount == 1)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A part that is lost on its way to the store is not fetched again`() async throws {
    let store = FakeS3 { request, state in
      request.part == 2 && !state.requests.contains { $0.part == 2 } ? .lost : nil
    }
    let source = FakeSource(3 * Self.part, to: store)
    // With several at once, only one of those that are held is kept until the next attempt.
    let result = try await upload(source) { $0.download?.connections = 1 }
    #expect(result.state == .completed)
    #expect(Self.parts(store) == [1, 2, 2, 3])
    #expect(source.snapshot.ranges.dropFirst().map(\.count).reduce(0, +) == 3 * Self.part)
  }

  @Test func `A part that the source breaks off is fetched again`() async throws {
    let store = FakeS3()
    let source = FakeSource(3 * Self.part, to: store) { request, state in
      request.firstByte == Int64(Self.part)
        && state.ranges.count { $0.lowerBound == Int64(Self.part) } < 2 ? .cutOff(1000) : nil
    }
    #expect(try await upload(source).state == .completed)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
    #expect(store.snapshot.uploadCount == 1)
  }

  @Test(arguments: [FakeSource.Fault.changed, .status(412, [])])
  func `A source that changes midway makes no object, and leaves no parts`(
    fault: FakeSource.Fault
  ) async throws {
    let store = FakeS3()
    let disk = Self.disk()
    let source = FakeSource(6 * Self.part, to: store) { request, _ in
      request.firstByte == Int64(4 * Self.part) ? fault : nil
    }
    let error = try await failure(source, disk, pauses: 2)
    #expect(error.code == .sourceChanged)
    #expect(source.snapshot.ranges.count { $0.lowerBound == Int64(4 * Self.part) } == 3)
    #expect(!store.snapshot.requests.contains { $0.part == 5 })
    #expect(store.snapshot.objects.isEmpty)
    #expect(store.snapshot.uploads.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `One answer of another version is asked for again`() async throws {
    let store = FakeS3()
    let source = FakeSource(3 * Self.part, to: store) { request, state in
      let second = Int64(Self.part)
      return request.firstByte == second && !state.ranges.contains { $0.lowerBound == second }
        ? .changed : nil
    }
    #expect(try await upload(source).state == .completed)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
  }

  @Test func `A new version after a stop begins a new upload`() async throws {
    let isHeld = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      request.part == 3 && isHeld.withLockedValue { $0 } ? .held : nil
    }
    let (source, disk) = (FakeSource(3 * Self.part, to: store), Self.disk())
    let first = try Self.manager(source, disk)
    let transfer = try await first.add(try Self.request())
    try await until { store.snapshot.uploads["u1"]?.parts.count == 2 }
    try await transfer.pause()
    await first.shutdown()

    isHeld.withLockedValue { $0 = false }
    source.change { ($0.seed, $0.tag) = (10, "\"v2\"") }
    let result = try await upload(source, disk)
    #expect((result.state, result.reused) == (.completed, 0))
    #expect(store.snapshot.uploadCount == 2)
    #expect(store.snapshot.uploads.isEmpty)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
  }

  @Test(arguments: [part, 3 * part])
  func `A source that ignores ranges is sent as a stream`(length: Int) async throws {
    let store = FakeS3()
    let source = FakeSource(length, to: store) { _, _ in .whole }
    #expect(try await upload(source).state == .completed)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
    #expect(source.snapshot.requests.count == 2)
    #expect(store.snapshot.mostOpen == 1)
  }

  @Test func `A source whose server refuses or breaks ranges is sent as a stream`() async throws {
    for fault in [FakeSource.Fault.status(403, []), .lost] {
      let store = FakeS3()
      let source = FakeSource(3 * Self.part, to: store) { request, _ in
        request.firstByte == nil ? nil : fault
      }
      #expect(try await upload(source) { $0.retry.retries = 0 }.state == .completed)
      #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
    }
  }

  @Test func `A source without a strong validator is sent as a stream`() async throws {
    let store = FakeS3()
    let source = FakeSource(3 * Self.part, to: store)
    source.change { $0.tag = "W/\"v1\"" }
    #expect(try await upload(source).state == .completed)
    #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
    #expect(source.snapshot.requests.last?.firstByte == nil)
  }

  @Test func `A stream whose end is not announced is refused without a checksum`() async throws {
    let store = FakeS3()
    let source = FakeSource(100, to: store) { _, _ in .whole }
    source.change { $0.hasLength = false }
    let error = try await failure(source)
    #expect(error.code == .protocolViolation)
    #expect(store.snapshot.objects.isEmpty)
    let checksums = Self.sha256(source.content)
    #expect(try await upload(source) { $0.download?.checksums = checksums }.state == .completed)
  }

  @Test func `An answer with a wrong range is never used`() async throws {
    let store = FakeS3()
    let source = FakeSource(3 * Self.part, to: store) { request, _ in
      request.firstByte == Int64(Self.part) ? .otherRange : nil
    }
    let error = try await failure(source)
    #expect(error.code == .protocolViolation)
    #expect(store.snapshot.objects.isEmpty)
    #expect(!store.snapshot.requests.contains { $0.part == 2 })
  }

  static func sha256(_ bytes: [UInt8]) -> [Checksum] {
    var digest = IncrementalDigest([.sha256])
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.checksums
  }

  @Test(arguments: [1, part, 3 * part + 1], [false, true])
  func `A checksum is compared before the object is made`(
    length: Int, isStream: Bool
  ) async throws {
    let (right, wrong) = (FakeS3(), FakeS3())
    func source(_ store: FakeS3) -> FakeSource {
      FakeSource(length, to: store) { _, _ in isStream ? .whole : nil }
    }
    let checksums = Self.sha256(source(right).content)
    let result = try await upload(source(right)) { $0.download?.checksums = checksums }
    #expect(result.state == .completed)
    #expect(right.snapshot.mostOpen == 1)
    let error = try await failure(source(wrong)) {
      $0.download?.checksums = Self.sha256([1])
    }
    #expect(error.code == .checksumMismatch)
    #expect(wrong.snapshot.objects.isEmpty)
    #expect(wrong.snapshot.uploads.isEmpty)
  }

  @Test func `A checksum needs the parts that are there already, but they are not sent`()
    async throws
  {
    let isHeld = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      request.part == 3 && isHeld.withLockedValue { $0 } ? .held : nil
    }
    let (source, disk) = (FakeSource(3 * Self.part, to: store), Self.disk())
    let checksums = Self.sha256(source.content)
    let first = try Self.manager(source, disk)
    let transfer = try await first.add(
      try Self.request { $0.download?.checksums = checksums })
    try await until { store.snapshot.requests.contains { $0.part == 3 } }
    try await transfer.pause()
    await first.shutdown()
    isHeld.withLockedValue { $0 = false }
    source.change { $0.requests = [] }
    let result = try await upload(source, disk) { $0.download?.checksums = checksums }
    #expect(result.reused == Int64(2 * Self.part))
    #expect(source.snapshot.ranges.count == 4)
    #expect(Self.parts(store) == [1, 2, 3, 3])
  }

  @Test func `Secrets of one server are not sent to the other`() async throws {
    let store = FakeS3()
    let source = FakeSource(2 * Self.part, to: store)
    _ = try await upload(source)
    for request in store.snapshot.requests {
      let fields = request.headers.map { "\($0.name): \($0.value)" }.joined()
      #expect(!fields.contains("source-"))
      #expect(!fields.contains("dXNlcjpzb3VyY2UtcGFzc3dvcmQ"))
    }
    #expect(!source.snapshot.requests.isEmpty)
    for request in source.snapshot.requests {
      let fields = request.headersToSend.fields.map { "\($0.name): \($0.value)" }.joined()
      #expect(fields.contains("source-field"))
      #expect(!fields.contains("AWS4") && !fields.contains("X-Amz"))
    }
  }

  @Test func `A cancelled upload leaves no parts, and ends its requests to the source`()
    async throws
  {
    let store = FakeS3()
    let source = FakeSource(3 * Self.part, to: store) { request, _ in
      request.firstByte == Int64(2 * Self.part) ? .held : nil
    }
    let disk = Self.disk()
    let manager = try Self.manager(source, disk)
    let transfer = try await manager.add(try Self.request())
    try await until { store.snapshot.uploads["u1"]?.parts.count == 2 }
    try await transfer.cancel()
    try await until { store.snapshot.uploads.isEmpty }
    await manager.shutdown()
    #expect(store.snapshot.objects.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A source that is not there fails as a source`() async throws {
    let source = FakeSource(1, to: FakeS3()) { _, _ in .status(404, []) }
    let error = try await failure(source)
    #expect(error.code == .notFound)
    #expect(error.message.hasPrefix("the source http://"), "\(error.message)")
    #expect(error.message.contains("s.example/f"))
    #expect(!error.message.contains("source-password"))
  }

  @Test func `A signed address with another signature continues only if it may`() async throws {
    for mayResume in [false, true] {
      let isHeld = NIOLockedValueBox(true)
      let store = FakeS3 { request, _ in
        request.part == 3 && isHeld.withLockedValue { $0 } ? .held : nil
      }
      let (source, disk) = (FakeSource(3 * Self.part, to: store), Self.disk())
      let first = try Self.manager(source, disk)
      let transfer = try await first.add(try Self.request())
      try await until { store.snapshot.uploads["u1"]?.parts.count == 2 }
      try await transfer.pause()
      await first.shutdown()
      isHeld.withLockedValue { $0 = false }
      let again = try ResourceURL("http://s.example/f?sig=2")
      let result = try await upload(source, disk) {
        $0.download?.url = again
        $0.download?.resumesFromOtherURL = mayResume
      }
      #expect(result.reused == (mayResume ? Int64(2 * Self.part) : 0))
      #expect(store.snapshot.uploads.isEmpty)
      #expect(disk.names(in: "/u").isEmpty)
    }
  }
}
