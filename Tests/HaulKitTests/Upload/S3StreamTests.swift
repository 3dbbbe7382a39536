import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Uploads of bytes that can be read only once to an S3 store in memory.
@Suite(.timeLimit(.minutes(10))) struct S3StreamTests {
  private static let path = "/b/k"
  private static let window = 8 << 20

  private struct Broken: Error {}

  private static func content(_ length: Int) -> [UInt8] {
    SeededContent(seed: 9).bytes(at: 0, count: length)
  }

  /// The bytes in chunks, then the end, or an error.
  private static func source(_ length: Int, fails: Bool = false) -> AsyncThrowingStream<
    [UInt8], any Error
  > {
    let offset = NIOLockedValueBox(0)
    return AsyncThrowingStream(unfolding: {
      let (start, count) = offset.withLockedValue { offset in
        let count = min(300_000, length - offset)
        defer { offset += count }
        return (offset, count)
      }
      guard count > 0 else {
        if fails { throw Broken() }
        return nil
      }
      return SeededContent(seed: 9).bytes(at: Int64(start), count: count)
    })
  }

  private static func request() throws -> TransferRequest {
    let object = try S3Object(bucket: "b", key: "k", endpoint: try ResourceURL("http://h.example"))
    return TransferRequest(
      .upload(
        UploadRequest(
          to: object, credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))))
  }

  private static func disk() -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeDirectory("/u")
    return disk
  }

  private static func manager(_ store: FakeS3, _ disk: SimulatedDisk) throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    return try TransferManager(testing: configuration, transport: store, disk: disk)
  }

  /// Runs one upload to its end.
  private func upload(
    _ bytes: AsyncThrowingStream<[UInt8], any Error>, to store: FakeS3, _ disk: SimulatedDisk
  ) async throws -> (result: TransferResult?, error: TransferError?) {
    let manager = try Self.manager(store, disk)
    let transfer = try await manager.add(try Self.request(), bytes: bytes)
    do throws(TransferError) {
      let result = try await transfer.result
      await manager.shutdown()
      return (result, nil)
    } catch {
      await manager.shutdown()
      return (nil, error)
    }
  }

  private static func isCreation(_ request: FakeS3.Request) -> Bool {
    request.method == "POST" && request.names == ["uploads"]
  }

  @Test func `Answers to the creation that are cut off leave no upload`() async throws {
    // The search for the lost upload is cut off once, too.
    let isCut = NIOLockedValueBox(false)
    let store = FakeS3 { request, state in
      if Self.isCreation(request), state.uploadCount == 0 { return .cut }
      guard request.names.contains("prefix") else { return nil }
      return isCut.withLockedValue { isCut in
        defer { isCut = true }
        return isCut ? nil : .cut
      }
    }
    let outcome = try await upload(Self.source(2 * Self.window), to: store, Self.disk())
    #expect(outcome.result?.bytes == Int64(2 * Self.window))
    #expect(store.snapshot.uploads.isEmpty)
    let never = FakeS3 { request, _ in Self.isCreation(request) ? .cut : nil }
    let failed = try await upload(Self.source(2 * Self.window), to: never, Self.disk())
    #expect(failed.error?.code == .connectionLost)
    #expect(never.snapshot.uploads.isEmpty)
  }

  @Test(arguments: [0, 1, window, window + 1, 2 * window, (2 * window) + 1])
  func `The store has the bytes, and no unfinished upload`(length: Int) async throws {
    let (store, disk) = (FakeS3(), Self.disk())
    let outcome = try await upload(Self.source(length), to: store, disk)
    #expect(outcome.result?.bytes == Int64(length))
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(length))
    #expect(store.snapshot.uploads.isEmpty)
    #expect(store.snapshot.mostOpen == 1)
    let parts = store.snapshot.requests.compactMap(\.part)
    #expect(parts == (length <= Self.window ? [] : Array(1...((length - 1) / Self.window + 1))))
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A part that is lost is sent again from memory`() async throws {
    let store = FakeS3 { request, state in
      request.part == 2 && !state.requests.contains { $0.part == 2 } ? .lost : nil
    }
    let outcome = try await upload(Self.source(20 << 20), to: store, Self.disk())
    #expect(outcome.result?.state == .completed)
    #expect(store.snapshot.requests.compactMap(\.part) == [1, 2, 2, 3])
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(20 << 20))
  }

  @Test func `Bytes that cannot be read make no object, and leave no parts`() async throws {
    let (store, disk) = (FakeS3(), Self.disk())
    let outcome = try await upload(Self.source(20 << 20, fails: true), to: store, disk)
    #expect(outcome.error?.code == .sourceUnreadable)
    #expect(store.snapshot.requests.compactMap(\.part) == [1, 2])
    #expect(store.snapshot.objects.isEmpty)
    #expect(store.snapshot.uploads.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `A store that takes no part any more keeps none`() async throws {
    let store = FakeS3 { request, _ in
      request.part == 2 ? .answer(403, FakeS3.error("AccessDenied")) : nil
    }
    let outcome = try await upload(Self.source(20 << 20), to: store, Self.disk())
    #expect(outcome.error?.code == .forbidden)
    #expect(store.snapshot.uploads.isEmpty)
  }

  @Test(arguments: [false, true])
  func `A pause or a cancel leaves no parts on the store`(isCancel: Bool) async throws {
    let store = FakeS3 { request, _ in request.part == 2 ? .held : nil }
    let disk = Self.disk()
    let manager = try Self.manager(store, disk)
    let transfer = try await manager.add(try Self.request(), bytes: Self.source(20 << 20))
    try await until { store.snapshot.requests.contains { $0.part == 2 } }
    if isCancel { try await transfer.cancel() } else { try await transfer.pause() }
    await manager.shutdown()
    #expect(store.snapshot.uploads.isEmpty)
    #expect(store.snapshot.objects.isEmpty)
    #expect(disk.names(in: "/u").isEmpty)
  }

  @Test func `Parts that could not be deleted are deleted by the next run`() async throws {
    let isDown = NIOLockedValueBox(true)
    let store = FakeS3 { request, _ in
      guard isDown.withLockedValue({ $0 }) else { return nil }
      if request.method == "DELETE" { return .lost }
      return request.part == 2 ? .answer(403, FakeS3.error("AccessDenied")) : nil
    }
    let disk = Self.disk()
    let first = try await upload(Self.source(20 << 20), to: store, disk)
    #expect(first.error?.code == .forbidden)
    #expect(store.snapshot.uploads.count == 1)

    isDown.withLockedValue { $0 = false }
    let second = try await upload(Self.source(17 << 20), to: store, disk)
    #expect(second.result?.state == .completed)
    #expect(store.snapshot.uploads.isEmpty)
    #expect(store.snapshot.objects[Self.path]?.bytes == Self.content(17 << 20))
  }
}
