import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import Testing

/// Two machines that run the same transfer to an S3 store: the first one stops at one of its
/// requests, and goes on once the other one has ended.
@Suite(.timeLimit(.minutes(10))) struct TwinRunTests {
  private static let path = "/b/k"
  private static let part = 8 << 20

  private static func request() throws -> TransferRequest {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("http://h.example"))
    var download = DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream)
    // One request after the other.
    download.connections = 1
    return TransferRequest(
      .upload(
        UploadRequest(
          from: download, to: object,
          credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))))
  }

  private static func manager(
    _ transport: any Transport, _ disk: SimulatedDisk, _ clock: ManualClock? = nil
  ) throws -> TransferManager {
    disk.makeDirectory("/u")
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    return try TransferManager(
      testing: configuration, transport: transport, disk: disk, clock: clock)
  }

  /// Runs the transfer on another machine.
  private func publish(_ source: FakeSource) async throws {
    let manager = try Self.manager(source, SimulatedDisk())
    let result = try await manager.add(try Self.request()).result
    await manager.shutdown()
    #expect(result.state == .completed && !result.isAdopted)
    #expect(source.store.snapshot.objects[Self.path]?.bytes == source.content)
  }

  private static func change(_ source: FakeSource) {
    source.change { ($0.seed, $0.tag) = ($0.seed + 1, "\"v\($0.seed + 1)\"") }
  }

  /// The first machine stops before this request; the other one runs meanwhile.
  private func end(
    of source: FakeSource, holding held: Int, changes: Bool
  ) async throws -> Result<TransferResult, TransferError> {
    let (gate, disk) = (Gate(source, holding: held), SimulatedDisk())
    let manager = try Self.manager(gate, disk)
    let transfer = try await manager.add(try Self.request())
    try await until { gate.isClosed }
    if changes { Self.change(source) }
    try await publish(source)
    let published = source.store.snapshot.objects[Self.path]?.bytes
    gate.open()
    let end = await transfer.end
    await manager.shutdown()
    #expect(source.store.snapshot.objects[Self.path]?.bytes == published)
    #expect(source.store.snapshot.uploads.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
    return end
  }

  /// The question for the object, then PUT; or the creation, three parts, a question that is not
  /// waited for as long, and the completion.
  @Test(arguments: [(1, [1]), (2 * part + 1, [1, 2, 3, 4, 6])], [false, true])
  func `A run that comes later than another one adopts its object`(
    requests: (length: Int, held: [Int]), changes: Bool
  ) async throws {
    for held in requests.held {
      let source = FakeSource(requests.length, to: FakeS3())
      let result = try await end(of: source, holding: held, changes: changes).get()
      #expect(result.state == .completed && result.isAdopted, "\(held)")
      #expect(result.bytes == Int64(requests.length) && result.verified == nil)
    }
  }

  @Test func `A run that finds the object of another one before its first byte begins after it`()
    async throws
  {
    for length in [1, 2 * Self.part + 1] {
      let same = FakeSource(length, to: FakeS3())
      let result = try await end(of: same, holding: 0, changes: false).get()
      #expect(result.state == .completed && result.isAdopted, "it is the same version")
      // Its version of the source is no longer there.
      let other = FakeSource(length, to: FakeS3())
      guard case .failure(let error) = try await end(of: other, holding: 0, changes: true) else {
        throw TransferError(.internal, "an old version")
      }
      #expect(error.code == .sourceChanged)
    }
  }

  @Test func `A version that is there is not sent again, unless something else is wanted`()
    async throws
  {
    for length in [1, 2 * Self.part + 1] {
      let source = FakeSource(length, to: FakeS3())
      try await publish(source)
      let digest = SeededContent.sha256(seed: 9, length: Int64(length))
      let digests = [Checksum(.sha256, bytes: digest)].compactMap(\.self)
      for (change, isAdopted) in [
        ({ _ in }, true), ({ $0.download?.ifExists = .overwrite }, false),
        ({ $0.headers = [("Content-Type", "text/x-other")] }, false),
        ({ $0.headers = [("Content-Type", "text/x-other")] }, true),
        ({ $0.download?.checksums = digests }, false),
      ] as [((inout UploadRequest) -> Void, Bool)] {
        var request = try Self.request()
        if var upload = request.upload {
          change(&upload)
          request = TransferRequest(.upload(upload))
        }
        let manager = try Self.manager(source, SimulatedDisk())
        let result = try await manager.add(request).result
        await manager.shutdown()
        #expect(result.state == .completed && result.isAdopted == isAdopted)
      }
      #expect(source.store.snapshot.objects[Self.path]?.bytes == source.content)
    }
  }

  @Test func `An object that is there is replaced by the first run only`() async throws {
    // The completion is after one more question for the object, as a store may ignore the
    // condition. That is not waited for as long: a slow machine would have gone on without it.
    for held in [1, 2, 3, 4, 6] {
      let source = FakeSource(2 * Self.part + 1, to: FakeS3())
      try await publish(source)
      Self.change(source)
      let result = try await end(of: source, holding: held, changes: true).get()
      #expect(result.isAdopted, "\(held)")
    }
  }

  @Test func `A store that ignores conditions is asked just before the object is replaced`()
    async throws
  {
    let store = FakeS3()
    store.change { $0.ignoredConditions = ["If-Match"] }
    let source = FakeSource(2 * Self.part + 1, to: store)
    try await publish(source)
    for held in 1...4 {
      Self.change(source)
      #expect(try await end(of: source, holding: held, changes: true).get().isAdopted, "\(held)")
    }
  }

  @Test func `A small object that may have replaced a newer one is no success`() async throws {
    let (store, clock) = (FakeS3(), ManualClock())
    store.change { $0.ignoredConditions = ["If-None-Match", "If-Match"] }
    let source = FakeSource(1, to: store)
    let gate = Gate(source, holding: 1)
    let manager = try Self.manager(gate, SimulatedDisk(), clock)
    let transfer = try await manager.add(try Self.request())
    try await until { gate.isClosed }
    Self.change(source)
    try await publish(source)
    clock.advance(by: .seconds(6))
    gate.open()
    // A change is asked for twice more, a second apart.
    for second in 7...8 {
      try await until { clock.wakeUps.contains(.seconds(second)) }
      clock.advance(by: .seconds(1))
    }
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(error?.code == .sourceChanged)
  }

  @Test func `Parts that the store does not delete then stay on record, and it is complete`()
    async throws
  {
    let store = FakeS3 { request, _ in request.method == "DELETE" ? .answer(500, "") : nil }
    let source = FakeSource(2 * Self.part + 1, to: store)
    // The question before it is not waited for as long: a slow machine would have completed it.
    let (gate, disk) = (Gate(source, holding: 6), SimulatedDisk())
    let manager = try Self.manager(gate, disk)
    let transfer = try await manager.add(try Self.request())
    try await until { gate.isClosed }
    try await publish(source)
    gate.open()
    #expect(try await transfer.result.isAdopted)
    await manager.shutdown()
    #expect(store.snapshot.uploads.count == 1 && disk.names(in: "/u").count == 1)
  }

  @Test func `The object of another transfer is neither adopted nor replaced`() async throws {
    let store = FakeS3()
    let source = FakeSource(2 * Self.part + 1, to: store)
    let (gate, disk) = (Gate(source, holding: 3), SimulatedDisk())
    let manager = try Self.manager(gate, disk)
    let transfer = try await manager.add(try Self.request())
    try await until { gate.isClosed }
    store.change {
      ($0.objects[Self.path], $0.tags[Self.path]) = (([7], HeaderFields()), "\"x\"")
    }
    gate.open()
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(error?.code == .nameConflict)
    #expect(store.snapshot.objects[Self.path]?.bytes == [7])
    #expect(store.snapshot.uploads.isEmpty && disk.names(in: "/u").isEmpty)
  }
}
