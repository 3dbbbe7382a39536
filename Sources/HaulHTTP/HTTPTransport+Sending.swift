import AsyncHTTPClient
package import HaulCore
import NIOCore
import NIOHTTP1
import NIOPosix

/// Requests with a body, and requests about the target of an upload.
extension HTTPTransport {
  /// Over HTTP/1.1: its client stops sending the body when a refusal arrives.
  package func send(_ request: SendRequest) async throws -> SendResponse {
    let origin = request.url.origin
    let route = route(to: origin)
    let fetch = FetchRequest(request)
    let mustBePublic = mustBePublic(request.namedBy)
    do {
      try checkTrust(of: fetch, over: route)
      if mustBePublic { try PrivateHostRegistry.check(origin) }
      let client = try clients.client(for: key(for: fetch, over: route, mustBePublic: mustBePublic))
      let answer = try await client.execute(
        message(request, fetch, over: route), deadline: .distantFuture)
      try Self.check(answer.status, over: route)
      return SendResponse(
        head: ResponseHead(
          status: Int(answer.status.code),
          headers: HeaderFields(answer.headers.map { ($0.name, $0.value) }), url: request.url,
          version: "\(answer.version)"),
        body: await Self.start(of: answer.body))
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      throw TransferError(mapping: error, from: origin, via: route)
    }
  }

  private func message(
    _ request: SendRequest, _ fetch: FetchRequest, over route: Route
  ) -> HTTPClientRequest {
    var message = HTTPClientRequest(url: address(of: request.url, over: route))
    message.method = HTTPMethod(rawValue: request.method)
    message.headers = headers(of: fetch, over: route)
    // The framing follows from the body.
    message.headers.remove(name: "Content-Length")
    message.headers.remove(name: "Transfer-Encoding")
    if let body = request.body {
      message.body = .stream(
        SendBuffers(base: body), length: request.length.map { .known($0) } ?? .unknown)
    }
    return message
  }

  private static let maximumBody = 1 << 20

  /// What explains the answer. It may be cut off: status and fields decide.
  private static func start(of body: HTTPClientResponse.Body) async -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      for try await buffer in body {
        bytes += buffer.readableBytesView.prefix(maximumBody - bytes.count)
        if bytes.count >= maximumBody { break }
      }
    } catch {
      return bytes
    }
    return bytes
  }
}

/// A body as the client wants it. The client hands each buffer to the connection's event loop, and
/// learns only from there that it must pause: a loop without processor time would collect the file.
private struct SendBuffers: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let base: SendRequest.Body
  /// So many bytes may be handed over before the loops have handled them.
  private static let window = 1 << 20

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<any ByteChunk, any Error>
    /// The bytes that the loops may not have handled.
    private var handedOver = 0

    init(_ base: any AsyncIteratorProtocol<any ByteChunk, any Error>) { self.base = base }

    mutating func next() async throws -> ByteBuffer? {
      if handedOver >= SendBuffers.window {
        // Which loop has the connection is not known here.
        let handled = MultiThreadedEventLoopGroup.singleton.makeIterator().map { $0.submit {} }
        for loop in handled { try await loop.get() }
        handedOver = 0
      }
      let buffer = try await base.next(isolation: nil)?.withBytes { ByteBuffer(bytes: $0) }
      handedOver += buffer?.readableBytes ?? 0
      return buffer
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base.makeAsyncIterator()) }
}
