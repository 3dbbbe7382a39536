import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Records of uploads in a store: another machine continues with the parts.
@Suite(.timeLimit(.minutes(3))) struct StoredRecordTests {
  private static let part = RemoteUploadTests.part
  private static let credentials = S3Credentials(accessKeyID: "id", secretAccessKey: "canary")

  private static func request() throws -> TransferRequest {
    let object = try S3Object(bucket: "b", key: "k", endpoint: try ResourceURL("http://h.example"))
    let download = DownloadRequest(url: try ResourceURL("http://s.example/f?sig=1"), to: .stream)
    return TransferRequest(
      .upload(UploadRequest(from: download, to: object, credentials: credentials)))
  }

  /// A machine of its own, with an empty disk.
  private static func machine(
    _ source: FakeSource, clock: ManualClock? = nil
  ) throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    let disk = RemoteUploadTests.disk()
    configuration.uploadDirectory = "/u"
    let place = try S3Object(
      bucket: "b", key: "records/any", endpoint: try ResourceURL("http://h.example"))
    configuration.recordPlace = UploadRequest(to: place, credentials: credentials)
    return try TransferManager(
      testing: configuration, transport: source, disk: disk, clock: clock)
  }

  private static func records(_ store: FakeS3) -> [String] {
    store.snapshot.objects.keys.filter { $0.hasPrefix("/b/records/") }
  }

  /// A store that holds the third part until `release` is called.
  private static func holding() -> (FakeS3, release: @Sendable () -> Void) {
    let isHeld = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      request.part == 3 && isHeld.withLockedValue { $0 } ? .held : nil
    }
    return (store, { isHeld.withLockedValue { $0 = false } })
  }

  @Test func `Another machine sends only what the store lacks, and no record is left`()
    async throws
  {
    let (store, release) = Self.holding()
    let source = FakeSource(3 * Self.part, to: store)
    let first = try Self.machine(source)
    let transfer = try await first.add(try Self.request())
    try await until { store.snapshot.uploads["u1"]?.parts.count == 2 }
    #expect(Self.records(store).count == 1)
    let record = try #require(Self.records(store).first)
    let bytes = store.snapshot.objects[record]?.bytes ?? []
    #expect(!String(decoding: bytes, as: UTF8.self).contains("canary"))
    try await transfer.pause()
    await first.shutdown()
    release()
    let second = try Self.machine(source)
    let result = try await second.add(try Self.request()).result
    await second.shutdown()
    #expect(result.reused == Int64(2 * Self.part))
    #expect(store.snapshot.objects["/b/k"]?.bytes == source.content)
    #expect(store.snapshot.uploads.isEmpty && Self.records(store).isEmpty)
  }

  @Test func `Of two machines that continue with one record, one makes the object`() async throws {
    let (store, release) = Self.holding()
    let source = FakeSource(3 * Self.part, to: store)
    let first = try Self.machine(source)
    let transfer = try await first.add(try Self.request())
    try await until { store.snapshot.uploads["u1"]?.parts.count == 2 }
    let second = try Self.machine(source)
    let other = try await second.add(try Self.request())
    try await until { store.snapshot.requests.count { $0.part == 3 } == 2 }
    release()
    try await transfer.pause()
    try await transfer.resume()
    try await other.pause()
    try await other.resume()
    let results = [try await transfer.result, try await other.result]
    #expect(results.allSatisfy { $0.state == .completed })
    await first.shutdown()
    await second.shutdown()
    #expect(store.snapshot.objects["/b/k"]?.bytes == source.content)
    #expect(store.snapshot.uploads.isEmpty && Self.records(store).isEmpty)
  }

  @Test func `A newer version after a stop begins a new upload`() async throws {
    let (store, release) = Self.holding()
    let source = FakeSource(3 * Self.part, to: store)
    let first = try Self.machine(source)
    let transfer = try await first.add(try Self.request())
    try await until { store.snapshot.uploads["u1"]?.parts.count == 2 }
    try await transfer.pause()
    await first.shutdown()
    release()
    source.change { ($0.seed, $0.tag) = (11, "\"v2\"") }
    let second = try Self.machine(source)
    let result = try await second.add(try Self.request()).result
    await second.shutdown()
    #expect(result.reused == 0)
    #expect(store.snapshot.objects["/b/k"]?.bytes == source.content)
    #expect(store.snapshot.uploads.isEmpty && Self.records(store).isEmpty)
  }

  @Test func `What is sent as a whole has none`() async throws {
    let store = FakeS3()
    let source = FakeSource(Self.part, to: store)
    let manager = try Self.machine(source)
    _ = try await manager.add(try Self.request()).result
    await manager.shutdown()
    #expect(store.snapshot.requests.allSatisfy { !$0.path.hasPrefix("/b/records/") })
  }

  @Test func `A place that refuses says so before a part is sent`() async throws {
    let store = FakeS3 { request, _ in
      request.path.hasPrefix("/b/records/")
        ? .answer(403, FakeS3.error("AccessDenied")) : nil
    }
    let source = FakeSource(3 * Self.part, to: store)
    let manager = try Self.machine(source)
    let transfer = try await manager.add(try Self.request())
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(error?.message.contains("the record of the upload") == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("AccessDenied") == true)
    #expect(store.snapshot.uploadCount == 0)
  }
}

/// Whether a store obeys the conditions by which runs do not replace each other's object.
@Suite(.timeLimit(.minutes(1))) struct StoreConditionTests {
  private func verdict(
    _ change: (inout FakeS3.State) -> Void = { _ in },
    fault: @escaping @Sendable (FakeS3.Request, FakeS3.State) -> FakeS3.Fault? = { _, _ in nil }
  ) async throws -> (Result<S3ConditionProbe.Verdict, TransferError>, FakeS3) {
    let store = FakeS3(fault)
    store.change(change)
    let manager = try TransferManager(testing: .init(), transport: store, disk: SimulatedDisk())
    let object = try S3Object(
      bucket: "b", key: "d/k", endpoint: try ResourceURL("http://h.example"))
    let upload = UploadRequest(
      to: object, credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))
    let result: Result<S3ConditionProbe.Verdict, TransferError>
    do throws(TransferError) {
      result = .success(try await manager.conditions(ofStoreOf: upload))
    } catch {
      result = .failure(error)
    }
    await manager.shutdown()
    #expect(store.snapshot.objects.isEmpty && store.snapshot.uploads.isEmpty, "nothing is left")
    let paths = store.snapshot.requests.map(\.path)
    #expect(paths.allSatisfy { $0.hasPrefix("/b/d/haul-probe-") })
    return (result, store)
  }

  @Test func `A store that obeys them in each way is known as such`() async throws {
    let (result, store) = try await verdict()
    #expect(try result.get() == .obeyed)
    #expect(store.snapshot.requests.count == 8)
  }

  @Test(arguments: ["If-None-Match", "If-Match"])
  func `One that ignores a condition is found`(name: String) async throws {
    let (result, _) = try await verdict { $0.ignoredConditions = [name] }
    #expect(try result.get() == .ignored)
  }

  @Test func `So is one that ignores it where an upload in parts ends`() async throws {
    let (result, _) = try await verdict({ $0.ignoredConditions = ["complete"] })
    #expect(try result.get() == .ignored)
  }

  @Test func `One that does not know the field is none that obeys it`() async throws {
    let (result, _) = try await verdict(fault: { request, _ in
      request.headers["If-None-Match"] == nil
        ? nil : .answer(501, FakeS3.error("NotImplemented"))
    })
    #expect(try result.get() == .ignored)
  }

  @Test func `If it may not be asked, nothing is known`() async throws {
    let (result, _) = try await verdict(fault: { request, _ in
      request.method == "PUT" ? .answer(403, FakeS3.error("AccessDenied")) : nil
    })
    #expect(throws: TransferError.self) { try result.get() }
  }
}
