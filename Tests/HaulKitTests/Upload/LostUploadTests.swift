import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Uploads in parts whose beginning was not answered: the next run deletes them.
@Suite(.timeLimit(.minutes(10))) struct LostUploadTests {
  private static let part = RemoteUploadTests.part

  private static func request() throws -> TransferRequest {
    let object = try S3Object(
      bucket: "b", key: "d/k é", endpoint: try ResourceURL("http://h.example"))
    var download = DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream)
    download.retry.retries = 0
    var upload = UploadRequest(
      from: download, to: object,
      credentials: S3Credentials(accessKeyID: "id", secretAccessKey: "secret"))
    upload.retry.retries = 0
    return TransferRequest(.upload(upload))
  }

  private static func run(
    _ source: FakeSource, _ disk: SimulatedDisk
  ) async throws -> TransferResult? {
    let manager = try RemoteUploadTests.manager(source, disk)
    let transfer = try await manager.add(try request())
    let result = try? await transfer.result
    await manager.shutdown()
    return result
  }

  /// A store that loses the answer to the first creation.
  private static func losing() -> FakeS3 {
    FakeS3 { request, state in
      request.method == "POST" && request.names == ["uploads"] && state.uploadCount == 0
        ? .answerLost : nil
    }
  }

  @Test func `One that has no part is deleted`() async throws {
    let (store, disk) = (Self.losing(), RemoteUploadTests.disk())
    let source = FakeSource(2 * Self.part, to: store)
    #expect(try await Self.run(source, disk) == nil)
    #expect(store.snapshot.uploads.keys.sorted() == ["u1"])
    let result = try #require(try await Self.run(source, disk))
    #expect(result.state == .completed)
    #expect(store.snapshot.uploads.isEmpty && disk.names(in: "/u").isEmpty)
    #expect(store.snapshot.objects.values.map(\.bytes) == [source.content])
  }

  @Test(arguments: [true, false])
  func `One with a part, or an older one, is that of another run`(hasPart: Bool) async throws {
    let (store, disk) = (Self.losing(), RemoteUploadTests.disk())
    let source = FakeSource(2 * Self.part, to: store)
    #expect(try await Self.run(source, disk) == nil)
    store.change { state in
      if hasPart {
        state.uploads["u1"]?.parts[1] = ("tag", [1])
      } else {
        state.begun["u1"] = "2020-01-01T00:00:00.000Z"
      }
    }
    #expect(try await Self.run(source, disk)?.state == .completed)
    #expect(store.snapshot.uploads.keys.sorted() == ["u1"])
  }

  @Test func `A store that does not list them gets the object all the same`() async throws {
    let store = FakeS3 { request, state in
      if request.names.contains("prefix") { return .answer(403, FakeS3.error("AccessDenied")) }
      return request.names == ["uploads"] && state.uploadCount == 0 ? .answerLost : nil
    }
    let (source, disk) = (FakeSource(2 * Self.part, to: store), RemoteUploadTests.disk())
    #expect(try await Self.run(source, disk) == nil)
    #expect(try await Self.run(source, disk)?.state == .completed)
  }

  @Test func `Without a loss nothing is asked for`() async throws {
    let (store, disk) = (FakeS3(), RemoteUploadTests.disk())
    let source = FakeSource(2 * Self.part, to: store)
    #expect(try await Self.run(source, disk)?.state == .completed)
    #expect(store.snapshot.requests.allSatisfy { !$0.names.contains("prefix") })
  }
}
