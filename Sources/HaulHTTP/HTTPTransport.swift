import AsyncHTTPClient
package import HaulCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// `Transport` over AsyncHTTPClient: HTTP/1.1, a redirect loop of our own, every error mapped once.
///
/// The scheduler limits connections; the client's own pool never does.
package final class HTTPTransport: Transport {
  /// What holds for every connection.
  package struct Settings: Sendable {
    package var connectTimeout: Duration = .seconds(10)
    /// From sending a request to its answer's head.
    package var headTimeout: Duration = .seconds(30)
    /// A PEM file to trust instead of the system's authorities.
    package var certificateAuthorities: String?
    package var userAgent = "haul"

    package init() {}
  }

  private let client: HTTPClient
  private let settings: Settings
  private let insecure: TLSConfiguration

  /// - Throws: `tls` when the file of authorities cannot be read or holds none.
  package init(_ settings: Settings) throws(TransferError) {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv12
    if let path = settings.certificateAuthorities {
      tls.trustRoots = .certificates(try Self.certificates(in: path))
    }
    var insecure = tls
    insecure.certificateVerification = .none
    self.insecure = insecure
    self.settings = settings
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: TimeAmount(settings.connectTimeout)),
      decompression: .disabled, http1_1ConnectionDebugInitializer: Self.widenReads)
    configuration.httpVersion = .http1Only
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
    // Off, or a refused port would be tried again in silence until the connect timeout.
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
      configuration: configuration)
  }

  private static func certificates(in path: String) throws(TransferError) -> [NIOSSLCertificate] {
    do {
      let found = try NIOSSLCertificate.fromPEMFile(path)
      if !found.isEmpty { return found }
    } catch {
      throw TransferError(.tls, "the certificate file \(path) cannot be read")
    }
    throw TransferError(.tls, "the certificate file \(path) holds no certificate")
  }

  /// Larger reads mean fewer wake-ups: the default grows from 2 to 64 KiB only.
  private static func widenReads(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10))
  }

  /// Closes every connection.
  package func shutdown() async {
    // Fails only when it was shut down before: nothing is left to close then.
    try? await client.shutdown()
  }

  package func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    var request = request
    var redirects = RedirectPolicy(start: request.url)
    while true {
      let response = try await send(request)
      let headers = HeaderFields(response.headers.map { ($0.name, $0.value) })
      if let location = redirects.location(status: Int(response.status.code), headers: headers) {
        request = try redirects.next(after: request, location: location)
        continue
      }
      let head = ResponseHead(
        status: Int(response.status.code), headers: headers, url: request.url,
        wasRedirected: redirects.count > 0, version: response.version.description)
      return FetchResponse(
        head: head, body: ResponseBodySequence(response.body, from: request.url.origin))
    }
  }

  private func send(_ request: FetchRequest) async throws -> HTTPClientResponse {
    // The client would ask for `/` instead.
    guard request.url.hasTextualPath else {
      throw TransferError(
        .notYetSupported, "the address's path is not UTF-8 when percent-decoded, not yet supported")
    }
    var message = HTTPClientRequest(url: request.url.absoluteString)
    message.headers = headers(of: request)
    if request.allowInsecure { message.tlsConfiguration = insecure }
    do {
      return try await client.execute(message, timeout: TimeAmount(settings.headTimeout))
    } catch let error as CancellationError {
      throw error
    } catch {
      throw TransferError(mapping: error, from: request.url.origin)
    }
  }

  private func headers(of request: FetchRequest) -> HTTPHeaders {
    var headers = HTTPHeaders(request.headers.fields.map { ($0.name, $0.value) })
    func fill(_ name: String, _ value: String) {
      if !headers.contains(name: name) { headers.add(name: name, value: value) }
    }
    fill("User-Agent", settings.userAgent)
    fill("Accept", "*/*")
    headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
    if let credentials = request.url.credentials {
      fill("Authorization", credentials.basic)
    }
    if let first = request.firstByte {
      let last = request.lastByte.map(String.init) ?? ""
      headers.replaceOrAdd(name: "Range", value: "bytes=\(first)-\(last)")
      if let validator = request.ifRange {
        headers.replaceOrAdd(name: "If-Range", value: validator)
      }
    }
    return headers
  }
}

extension TimeAmount {
  init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
