import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// `restart` of an upload that the server has a part of.
@Suite(.timeLimit(.minutes(10))) struct UploadRestartTests {
  /// A tus server that has taken 2 bytes of each upload, and answers a PATCH only when told to.
  private final class TusServer: Transport {
    private struct State {
      var asked: [String] = []
      var uploads = 0
      var isHeld = true
    }

    private let state = NIOLockedValueBox(State())

    /// Each request as `METHOD PATH OFFSET`.
    var asked: [String] { state.withLockedValue { $0.asked } }

    func release() { state.withLockedValue { $0.isHeld = false } }

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      throw TransferError(.notYetSupported, "this server only takes uploads")
    }

    func send(_ request: SendRequest) async throws -> SendResponse {
      if let body = request.body { for try await _ in body {} }
      let offset = request.headersToSend["Upload-Offset"] ?? ""
      let (number, isHeld) = state.withLockedValue { state in
        state.asked.append("\(request.method) \(request.url.path) \(offset)")
        if request.method == "POST" { state.uploads += 1 }
        return (state.uploads, state.isHeld)
      }
      func answer(_ status: Int, _ fields: [(String, String)] = []) -> SendResponse {
        SendResponse(
          head: ResponseHead(status: status, headers: HeaderFields(fields), url: request.url))
      }
      switch request.method {
      case "OPTIONS": return answer(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation")])
      case "POST": return answer(201, [("Location", "/\(number)")])
      case "HEAD": return answer(200, [("Upload-Offset", "2"), ("Upload-Length", "5")])
      case "PATCH" where isHeld:
        // Ends when the request is cancelled.
        for await _ in AsyncStream<Never>.makeStream().stream {}
        throw CancellationError()
      case "PATCH": return answer(204, [("Upload-Offset", "5")])
      default: return answer(204)
      }
    }
  }

  private func manager(_ server: TusServer) throws -> TransferManager {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.put([1, 2, 3, 4, 5], at: "/d/f")
    return try TransferManager(testing: .init(), transport: server, disk: disk)
  }

  private func request() throws -> TransferRequest {
    .upload("/d/f", to: try ResourceURL("http://h.example/")) { $0.method = .tus }
  }

  @Test func `A tus upload begins anew, and the old one is deleted`() async throws {
    let server = TusServer()
    let manager = try manager(server)
    let transfer = try await manager.add(try request())
    try await until { server.asked.last == "PATCH /1 0" }
    try await transfer.pause()
    try await transfer.restart()
    try await until { server.asked.last == "PATCH /2 0" }
    #expect(server.asked.filter { $0.hasSuffix("/1 ") } == ["DELETE /1 "])

    // A pause after that does not begin anew again.
    try await transfer.pause()
    server.release()
    try await transfer.resume()
    #expect(try await transfer.result.reused == 2)
    #expect(server.asked.suffix(2) == ["HEAD /2 ", "PATCH /2 2"])
    await manager.shutdown()
  }

  // After a crash in between, the next run would make a second upload.
  @Test func `The record of a completed upload stays until its end is stored`() async throws {
    let (server, disk) = (TusServer(), SimulatedDisk())
    for directory in ["/d", "/u"] { disk.makeDirectory(directory) }
    disk.put([1, 2, 3, 4, 5], at: "/d/f")
    server.release()
    let recordBytes = NIOLockedValueBox(0)
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    var hooks = Hooks()
    hooks.reached = { point in
      // The last decision is the one that stores the end.
      guard point == .decided else { return }
      let sizes = disk.names(in: "/u").map { disk.contents(of: "/u/\($0)")?.count ?? 0 }
      recordBytes.withLockedValue { $0 = sizes.reduce(0, +) }
    }
    let engine = Engine(
      transport: server, disk: disk, io: BlockingIO(), clock: SystemClock(),
      configuration: configuration, hooks: hooks, executors: LoopExecutor.all,
      network: UnknownNetwork(), programs: nil)
    let manager = TransferManager(engine: engine, store: MemoryStore())
    #expect(try await manager.add(try request()).result.state == TransferResult.State.completed)
    #expect(recordBytes.withLockedValue(\.self) > 0)
    #expect(disk.names(in: "/u").isEmpty)
    await manager.shutdown()
  }
}
