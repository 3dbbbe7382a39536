import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Orders to an upload, and what other transfers learn from it.
@Suite(.timeLimit(.minutes(10))) struct UploadOrderTests {
  /// A tus server that answers its first request only when the request is cancelled.
  private final class LateServer: Transport {
    private let asked = NIOLockedValueBox<[String]>([])

    var methods: [String] { asked.withLockedValue { $0 } }

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      throw TransferError(.notYetSupported, "this server only takes uploads")
    }

    func send(_ request: SendRequest) async throws -> SendResponse {
      asked.withLockedValue { $0.append(request.method) }
      // Ends when the task is cancelled.
      for await _ in AsyncStream<Never>.makeStream().stream {}
      let headers: HeaderFields = ["Tus-Version": "1.0.0", "Tus-Extension": "creation"]
      return SendResponse(head: ResponseHead(status: 204, headers: headers, url: request.url))
    }
  }

  @Test func `An upload that is paused between two requests sends no other one`() async throws {
    let (disk, server) = (SimulatedDisk(), LateServer())
    disk.makeDirectory("/d")
    disk.put([1, 2, 3], at: "/d/f")
    let manager = try TransferManager(testing: .init(), transport: server, disk: disk)
    let transfer = try await manager.add(
      .upload("/d/f", to: ResourceURL("http://h.example/")) { $0.method = .tus })
    try await until { server.methods == ["OPTIONS"] }
    try await transfer.pause()
    #expect(await transfer.state == .paused)
    #expect(server.methods == ["OPTIONS"])
    await manager.shutdown()
  }

  @Test func `A pause that a server asks for during an upload is stored for its host`()
    async throws
  {
    let later = FaultScript.Resource("/f", length: 0).with {
      $0.faults = [Fault(.retryLater(status: 503, seconds: 3600))]
    }
    let store = MemoryStore()
    try await DownloadFixture.with([later]) { fixture in
      let source = try fixture.authorityFile()
      let url = try ResourceURL(fixture.server.url("/f"))
      _ = try await fixture.queue(store: store) { queue in
        let transfer = try await queue.manager.add(
          .upload(source, to: url) { $0.retry.maximumTimeWithoutProgress = .seconds(7200) })
        try await until {
          (try? await store.records([transfer.id]).first?.storedState.waitReason) != nil
        }
        #expect(try await store.records([transfer.id]).first?.storedState.hostPause != nil)
      }
    }
  }

  @Test(arguments: [UploadRequest.Method.put, .post])
  func `The progress of a group has the bytes of its uploads`(method: UploadRequest.Method)
    async throws
  {
    try await DownloadFixture.with([FaultScript.Resource("/f", length: 0)]) { fixture in
      let source = try fixture.authorityFile()
      let url = try ResourceURL(fixture.server.url("/f"))
      _ = try await fixture.queue { queue in
        var request = TransferRequest.upload(source, to: url) { $0.method = method }
        request.group = "g"
        let result = try await queue.manager.add(request).result
        #expect(result.state == .completed)
        #expect(try await queue.manager.group("g").progress.bytes == result.bytes)
      }
    }
  }
}
