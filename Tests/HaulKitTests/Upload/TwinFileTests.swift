import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import Testing

/// Two machines that run the same transfer to a server of files, by PUT or WebDAV: the first one
/// stops at one of its requests, and goes on once the other one has ended.
@Suite(.timeLimit(.minutes(10))) struct TwinFileTests {
  private static let path = "/d/f"
  /// Longer than what is held of a stream.
  private static let long = UploadExtent.window + 5

  private static func request(
    _ method: UploadRequest.Method, _ checksums: [Checksum] = []
  ) throws -> TransferRequest {
    var download = DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream)
    download.checksums = checksums
    var upload = UploadRequest(from: download, to: try ResourceURL("http://h.example/d/f"))
    upload.method = method
    return TransferRequest(.upload(upload))
  }

  private static func manager(
    _ transport: any Transport, _ disk: SimulatedDisk
  ) throws -> TransferManager {
    disk.makeDirectory("/u")
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    return try TransferManager(testing: configuration, transport: transport, disk: disk)
  }

  /// Runs the transfer on another machine.
  private func publish(_ files: FakeFiles, _ method: UploadRequest.Method) async throws {
    let manager = try Self.manager(files, SimulatedDisk())
    let result = try await manager.add(try Self.request(method)).result
    await manager.shutdown()
    #expect(result.state == .completed && !result.isAdopted)
    #expect(files.snapshot.files[Self.path]?.bytes == files.source.content)
  }

  private static func change(_ source: FakeSource) {
    source.change { ($0.seed, $0.tag) = ($0.seed + 1, "\"v\($0.seed + 1)\"") }
  }

  /// The first machine stops before this request; the other one runs meanwhile.
  /// - Returns: how the first one ended; and the file that is there is that of the other one.
  private func end(
    of files: FakeFiles, _ method: UploadRequest.Method, holding held: Int, changes: Bool,
    _ checksums: [Checksum] = []
  ) async throws -> Result<TransferResult, TransferError> {
    let (gate, disk) = (Gate(files, holding: held), SimulatedDisk())
    let manager = try Self.manager(gate, disk)
    let transfer = try await manager.add(try Self.request(method, checksums))
    try await until { gate.isClosed }
    if changes { Self.change(files.source) }
    try await publish(files, method)
    let published = files.snapshot.files[Self.path]?.bytes
    gate.open()
    let end = await transfer.end
    await manager.shutdown()
    #expect(files.snapshot.files[Self.path]?.bytes == published, "\(held)")
    #expect(files.snapshot.files.count == 1 && disk.names(in: "/u").isEmpty, "\(held)")
    return end
  }

  /// Of PUT: the question for the file, the file, the question for its length. Of WebDAV: the
  /// question, the directory, the file, its length, the question, the MOVE, and what it did.
  static let ways: [(UploadRequest.Method, late: [Int], last: Int)] = [
    (.put, [1], 2), (.webDAV, [1, 2, 3, 4, 5], 6),
  ]

  @Test(arguments: ways, [1, long])
  func `A run that comes later than another one adopts its file, if the server tells what it has`(
    way: (method: UploadRequest.Method, late: [Int], last: Int), length: Int
  ) async throws {
    for held in way.late {
      for hasDigests in [true, false] {
        let source = FakeSource(length, to: FakeS3())
        let files = FakeFiles(source, statesDigests: hasDigests)
        let end = try await end(of: files, way.method, holding: held, changes: false)
        // What was sent as a stream is gone; a server of WebDAV has it under another name.
        let isProved = hasDigests && (length == 1 || way.method == .webDAV)
        switch end {
        case .success(let result):
          #expect(isProved && result.state == .completed && result.isAdopted, "\(held)")
          #expect(result.bytes == Int64(length))
        case .failure(let error):
          #expect(!isProved && error.code == .nameConflict, "\(held)")
          #expect(error.message.contains("compare it"))
        }
      }
    }
  }

  @Test(arguments: ways, [1, long])
  func `A run with an older version never replaces a newer one`(
    way: (method: UploadRequest.Method, late: [Int], last: Int), length: Int
  ) async throws {
    for held in way.late {
      let files = FakeFiles(FakeSource(length, to: FakeS3()))
      let end = try await end(of: files, way.method, holding: held, changes: true)
      // A run that has not read its first byte reads the newer version.
      guard case .failure(let error) = end else {
        #expect(way.method == .webDAV && held < 2, "\(held)")
        #expect(try end.get().isAdopted, "\(held)")
        continue
      }
      #expect(error.code == .nameConflict, "\(held)")
    }
  }

  @Test(arguments: ways, [1, long])
  func `A run that has asked nothing, or has published, is complete`(
    way: (method: UploadRequest.Method, late: [Int], last: Int), length: Int
  ) async throws {
    for changes in [false, true] {
      for held in [0, way.last] {
        let files = FakeFiles(FakeSource(length, to: FakeS3()))
        let result = try await end(of: files, way.method, holding: held, changes: changes).get()
        #expect(result.state == .completed && !result.isAdopted, "\(held)")
      }
    }
  }

  @Test(arguments: ways)
  func `A file that was there is replaced by the first run only`(
    way: (method: UploadRequest.Method, late: [Int], last: Int)
  ) async throws {
    // A server of WebDAV cannot be told at the MOVE which version it may replace.
    for held in way.late where way.method == .put || held < 5 {
      let source = FakeSource(1, to: FakeS3())
      let files = FakeFiles(source)
      try await publish(files, way.method)
      Self.change(source)
      let end = try await end(of: files, way.method, holding: held, changes: true)
      if case .failure(let error) = end { #expect(error.code == .nameConflict, "\(held)") }
    }
  }

  @Test func `A stream that is gone is known by the digest that the user gave`() async throws {
    let source = FakeSource(Self.long, to: FakeS3())
    var digest = IncrementalDigest([.sha256])
    source.content.withUnsafeBytes { digest.update($0) }
    let files = FakeFiles(source)
    let result = try await end(
      of: files, .put, holding: 1, changes: false, digest.checksums
    ).get()
    #expect(result.isAdopted)
  }
}
