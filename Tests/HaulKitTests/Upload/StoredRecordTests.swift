import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Records of uploads in a store: another machine continues with the parts.
@Suite(.timeLimit(.minutes(10))) struct StoredRecordTests {
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

  /// Runs an upload whose records the store refuses.
  private func run(
    refusing method: String? = nil, _ status: Int, _ code: String
  ) async throws -> (message: String, store: FakeS3) {
    let store = FakeS3 { request, _ in
      request.path.hasPrefix("/b/records/") && request.method == method ?? request.method
        ? .answer(status, FakeS3.error(code)) : nil
    }
    let manager = try Self.machine(FakeSource(3 * Self.part, to: store))
    let transfer = try await manager.add(try Self.request())
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    return (error?.message ?? "", store)
  }

  @Test func `A place that refuses says so before a part is sent`() async throws {
    let (message, store) = try await run(403, "AccessDenied")
    #expect(message.contains("the record of the upload"), "\(message)")
    #expect(message.contains("AccessDenied"))
    #expect(store.snapshot.uploadCount == 0)
  }

  @Test(arguments: ["GET", "PUT"])
  func `A bucket of records that does not exist is an error`(method: String) async throws {
    let (message, _) = try await run(refusing: method, 404, "NoSuchBucket")
    #expect(message.contains("there is no such bucket"), "\(message)")
  }
}

/// Whether a store obeys the conditions by which runs do not replace each other's object.
@Suite(.timeLimit(.minutes(10))) struct StoreConditionTests {
  private func probe(
    _ change: (inout FakeS3.State) -> Void = { _ in },
    fault: @escaping @Sendable (FakeS3.Request, FakeS3.State) -> FakeS3.Fault? = { _, _ in nil }
  ) async throws -> (S3ConditionProbe, FakeS3) {
    let store = FakeS3(fault)
    store.change(change)
    let manager = try TransferManager(testing: .init(), transport: store, disk: SimulatedDisk())
    let object = try S3Object(
      bucket: "b", key: "d/k", endpoint: try ResourceURL("http://h.example"))
    let upload = UploadRequest(
      to: object, credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))
    let probe = try await manager.conditions(ofStoreOf: upload)
    await manager.shutdown()
    let state = store.snapshot
    let isClean = state.objects.isEmpty && state.uploads.isEmpty && state.versions.isEmpty
    #expect(probe.hasRemains != isClean, "it says what it leaves")
    #expect(state.requests.allSatisfy { $0.path.hasPrefix("/b/d/haul-probe-") })
    return (probe, store)
  }

  @Test func `A store that obeys them in each way is known as such`() async throws {
    let (probe, store) = try await probe()
    #expect(try probe.verdict() == .obeyed && !probe.hasRemains)
    #expect(store.snapshot.requests.count == 9)
  }

  @Test(arguments: ["If-None-Match", "If-Match", "complete"])
  func `One that ignores a condition is found, also where an upload in parts ends`(
    name: String
  ) async throws {
    let (probe, _) = try await probe { $0.ignoredConditions = [name] }
    #expect(try probe.verdict() == .ignored && !probe.hasRemains)
  }

  @Test(arguments: [(501, "NotImplemented"), (400, "InvalidArgument")], ["PUT", "POST"])
  func `One that does not know the field is none that obeys it`(
    refusal: (status: Int, code: String), method: String
  ) async throws {
    let (probe, _) = try await probe(fault: { request, _ in
      request.headers["If-None-Match"] == nil || request.method != method
        ? nil : .answer(refusal.status, FakeS3.error(refusal.code))
    })
    #expect(try probe.verdict() == .ignored && !probe.hasRemains)
  }

  @Test(arguments: [(403, "AccessDenied"), (400, "InvalidRequest")])
  func `If it may not be asked, or refuses something else, nothing is known`(
    status: Int, code: String
  ) async throws {
    for query in [nil, "uploads"] {
      let (probe, _) = try await probe(fault: { request, _ in
        request.method == (query == nil ? "PUT" : "POST")
          && (query == nil) == !request.names.contains("uploads")
          ? .answer(status, FakeS3.error(code)) : nil
      })
      #expect(throws: TransferError.self) { try probe.verdict() }
    }
  }

  @Test func `Where objects are locked, a store wants the MD5`() async throws {
    let (probe, _) = try await probe(fault: { request, _ in
      request.method == "PUT" && request.headers["Content-MD5"] == nil
        ? .answer(400, FakeS3.error("InvalidRequest")) : nil
    })
    #expect(try probe.verdict() == .obeyed)
  }

  @Test(arguments: [403, 405, 404])
  func `One that does not say which object it has lets no condition be known`(
    status: Int
  ) async throws {
    let (probe, _) = try await probe(fault: { request, _ in
      request.method == "HEAD" ? .answer(status, "") : nil
    })
    #expect(try probe.verdict() == .unasked)
  }

  @Test func `What a store refuses of one upload is not sent with the next`() async throws {
    let store = FakeS3 { request, _ in
      request.method == "PUT" && request.headers["If-None-Match"] != nil
        ? .answer(501, FakeS3.error("NotImplemented")) : nil
    }
    let source = FakeSource(1000, to: store)
    let manager = try TransferManager(testing: .init(), transport: source, disk: SimulatedDisk())
    var counts: [Int] = []
    for key in ["k1", "k2"] {
      let object = try S3Object(
        bucket: "b", key: key, endpoint: try ResourceURL("http://h.example"))
      let download = DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream)
      let upload = UploadRequest(
        from: download, to: object,
        credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))
      let result = try await manager.add(TransferRequest(.upload(upload))).result
      #expect(result.state == .completed)
      let requests = store.snapshot.requests.filter { $0.path == "/b/\(key)" }
      counts.append(requests.count { $0.method == "PUT" })
      // What is there is asked for just before the object is sent.
      #expect(requests.suffix(2).map(\.method) == ["HEAD", "PUT"], "\(requests.map(\.method))")
    }
    await manager.shutdown()
    #expect(counts == [3, 1])
  }

  @Test func `In a bucket with versions none stays`() async throws {
    for ignored in ["", "If-None-Match"] {
      let (probe, store) = try await probe {
        ($0.keepsVersions, $0.ignoredConditions) = (true, [ignored])
      }
      #expect(!probe.hasRemains && store.snapshot.versions.isEmpty)
    }
  }

  @Test(arguments: [[], ["uploadId"]])
  func `What the store does not delete is not kept secret`(names: [String]) async throws {
    let (probe, store) = try await probe(fault: { request, _ in
      request.method == "DELETE" && request.names == names
        ? .answer(403, FakeS3.error("AccessDenied")) : nil
    })
    #expect(try probe.verdict() == .obeyed)
    #expect(probe.hasRemains)
    #expect(store.snapshot.objects.count + store.snapshot.uploads.count == 1)
  }
}
