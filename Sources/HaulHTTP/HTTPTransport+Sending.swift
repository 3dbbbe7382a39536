import AsyncHTTPClient
package import HaulCore
import NIOCore
import NIOHTTP1

/// Requests with a body, and requests about the target of an upload.
extension HTTPTransport {
  /// Over HTTP/1.1: its client stops sending the body when a refusal arrives.
  package func send(_ request: SendRequest) async throws -> SendResponse {
    let origin = request.url.origin
    let route = route(to: origin)
    let fetch = FetchRequest(
      url: request.url, headers: request.headers, allowInsecure: request.allowInsecure)
    do {
      try checkTrust(of: fetch, over: route)
      let client = try clients.client(
        for: ClientCache.Key(
          route: route, speaksHTTP2: false,
          isUnchecked: route.endsTLSItself && request.allowInsecure,
          certifiedHost: certifiedHost(of: fetch), hasRawTarget: !request.url.hasTextualPath,
          isPublicOnly: false))
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
    if request.allowInsecure { message.tlsConfiguration = clients.tls.unchecked }
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

/// A body as the client wants it.
private struct SendBuffers: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let base: SendRequest.Body

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<any ByteChunk, any Error>

    mutating func next() async throws -> ByteBuffer? {
      try await base.next(isolation: nil)?.withBytes { ByteBuffer(bytes: $0) }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}
