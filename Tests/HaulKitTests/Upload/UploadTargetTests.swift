import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A tus server that names the target of each upload, and takes every byte.
private final class NamingServer: Transport {
  private let location: String
  private let requests = NIOLockedValueBox<[SendRequest]>([])

  init(location: String) { self.location = location }

  /// Those that are not to the address that was given.
  var later: [SendRequest] {
    requests.withLockedValue { $0.filter { !["OPTIONS", "POST"].contains($0.method) } }
  }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    throw TransferError(.notYetSupported, "this server only takes uploads")
  }

  func send(_ request: SendRequest) async throws -> SendResponse {
    requests.withLockedValue { $0.append(request) }
    var count = 0
    if let body = request.body { for try await chunk in body { count += chunk.count } }
    let own =
      switch request.method {
      case "OPTIONS": (204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination")])
      case "POST": (201, [("Location", location)])
      default: (204, [("Upload-Offset", "\(count)")])
      }
    let fields = HeaderFields(own.1 + [("Tus-Resumable", "1.0.0")])
    return SendResponse(head: ResponseHead(status: own.0, headers: fields, url: request.url))
  }
}

/// The target of an upload that a server names.
@Suite(.timeLimit(.minutes(10)))
struct UploadTargetTests {
  /// Uploads with tus to an address with every secret.
  private func upload(_ server: NamingServer) async throws -> TransferResult {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.put(Array("content".utf8), at: "/d/f")
    var ports = PortOverrides(transport: server)
    ports.disk = disk
    let manager = try TransferManager(.init(), replacing: ports)
    let request = TransferRequest.upload(
      "/d/f", to: try ResourceURL("https://user:pass@h.example/files/")
    ) {
      ($0.method, $0.allowInsecure, $0.retry.retries) = (.tus, true, 0)
      $0.headers = [("X-Key", "canary")]
    }
    let result = try await manager.add(request).result
    await manager.shutdown()
    return result
  }

  @Test
  func `at the same origin keeps the secrets and the trust, and is known as the server's choice`()
    async throws
  {
    let server = NamingServer(location: "/files/1")
    #expect(try await upload(server).state == .completed)
    let request = try #require(server.later.first)
    #expect(request.namedBy?.host == "h.example")
    #expect(request.allowInsecure)
    #expect(request.headersToSend["X-Key"] == "canary")
    #expect(request.headersToSend["Authorization"] != nil)
  }

  @Test func `at another origin gets neither, and is known as named by the first`() async throws {
    let server = NamingServer(location: "https://o.example/files/1")
    #expect(try await upload(server).state == .completed)
    let request = try #require(server.later.first)
    #expect(request.namedBy?.host == "h.example")
    #expect(!request.allowInsecure)
    #expect(request.headersToSend["X-Key"] == nil)
    #expect(request.headersToSend["Authorization"] == nil)
  }

  @Test
  func `never leads from https to http: the own host keeps https, any other is refused`()
    async throws
  {
    let own = NamingServer(location: "http://h.example/files/1")
    #expect(try await upload(own).state == .completed)
    #expect(own.later.map(\.url.absoluteString) == ["https://h.example/files/1"])
    let other = NamingServer(location: "http://o.example/files/1")
    let error = await #expect(throws: TransferError.self) { try await upload(other) }
    #expect(error?.code == .redirectRefused)
    #expect(other.later.isEmpty)
  }

  @Test(arguments: ["127.0.0.1", "localhost", "inner.example"], [false, true])
  func `at a private address is refused before a request is sent, if a public host names it`(
    host: String, isPublic: Bool
  ) async throws {
    try await withFaultServer(FaultScript([FaultScript.Resource("/f", seed: 1, length: 10)])) {
      (server) async throws in
      var settings = HTTPTransport.Settings()
      settings.refusesPrivateRedirects = true
      settings.addresses = ["inner.example": "127.0.0.1"]
      let transport = try HTTPTransport(settings)
      var request = SendRequest("HEAD", try ResourceURL("http://\(host):\(server.port)/f"))
      request.namedBy = try ResourceURL(isPublic ? "http://public.example" : "http://10.0.0.1")
        .origin
      do {
        _ = try await transport.send(request)
        #expect(!isPublic)
      } catch let error as TransferError {
        #expect(error.code == .redirectRefused)
        #expect(isPublic)
      }
      #expect(server.snapshot.requestCount("/f") == (isPublic ? 0 : 1))
      await transport.shutdown()
    }
  }
}
