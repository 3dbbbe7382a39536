import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Two machines that run the same transfer to a server that gives each upload an address.
@Suite(.timeLimit(.minutes(10))) struct TwinUploadTests {
  /// A server of the source, and one that takes uploads by tus.
  private struct Servers: Transport {
    let source: FakeSource
    let tus: FakeTus

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      try await source.fetch(request)
    }

    func send(_ message: SendRequest) async throws -> SendResponse { try await tus.send(message) }
  }

  private static func manager(_ transport: any Transport) throws -> TransferManager {
    let disk = SimulatedDisk()
    disk.makeDirectory("/u")
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    return try TransferManager(testing: configuration, transport: transport, disk: disk)
  }

  private static func request() throws -> TransferRequest {
    let download = DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream)
    var upload = UploadRequest(from: download, to: try ResourceURL("http://h.example/files/"))
    upload.method = .tus
    return TransferRequest(.upload(upload))
  }

  /// The first one stops before it asks what the server can, before the upload is created, and
  /// before the bytes.
  @Test(arguments: 0..<3, [false, true])
  func `By tus each run has an upload of its own: no file is mixed, and none is lost`(
    held: Int, changes: Bool
  ) async throws {
    let source = FakeSource(1000, to: FakeS3())
    let servers = Servers(source: source, tus: FakeTus("creation,termination"))
    let first = source.content
    let gate = Gate(servers, holding: held)
    let (late, other) = (try Self.manager(gate), try Self.manager(servers))
    let transfer = try await late.add(try Self.request())
    try await until { gate.isClosed }
    if changes { source.change { ($0.seed, $0.tag) = (10, "\"v2\"") } }
    #expect(try await other.add(try Self.request()).result.state == .completed)
    gate.open()
    let end = await transfer.end
    await late.shutdown()
    await other.shutdown()
    let files = servers.tus.snapshot.files
    #expect(files.contains(source.content))
    #expect(files.allSatisfy { $0 == first || $0 == source.content })
    if case .success(let result) = end {
      #expect(result.state == .completed && files.count == 2)
    } else {
      #expect(files.count == 1)
    }
  }
}
