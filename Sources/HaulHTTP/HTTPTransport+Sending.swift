import AsyncHTTPClient
package import HaulCore
import NIOCore
import NIOHTTP1
import NIOPosix

/// Requests with a body, and requests about the target of an upload.
extension HTTPTransport {
  /// Over HTTP/1.1: its client stops sending the body when a refusal arrives.
  package func send(_ request: SendRequest) async throws -> SendResponse {
    if request.body != nil, request.length == nil { await askForChallenge(of: request) }
    var (own, number) = (CookieJar(), 0)
    while true {
      let prepared = try prepare(
        FetchRequest(request), method: request.method, hasBody: request.body != nil, cookies: own)
      let response = try await send(request, as: prepared)
      await cookies.store(response.head.headers, of: prepared.request, own: &own)
      let isRepeatable = request.body == nil || request.length != nil
      guard number < Self.maximumRepeats, isRepeatable,
        learns(
          from: response.head.status, response.head.headers, to: prepared, isRepeated: number > 0)
      else {
        try Self.check(response.head.status, response.head.headers, of: prepared)
        return response
      }
      number += 1
    }
  }

  /// Learns whether the server wants Digest, because a body of unknown length can't be sent twice.
  private func askForChallenge(of request: SendRequest) async {
    guard let prepared = try? prepare(FetchRequest(request), cookies: CookieJar()),
      prepared.mayBeChallenged
    else { return }
    var question = request
    (question.method, question.body, question.length) = ("HEAD", nil, 0)
    // The request itself fails in the same way.
    _ = try? await send(question)
  }

  private func send(
    _ request: SendRequest, as prepared: PreparedRequest
  ) async throws -> SendResponse {
    let origin = request.url.origin
    var (route, refusals) = (prepared.route, 0)
    let mustBePublic = mustBePublic(origin, namedBy: request.namedBy)
    while true {
      do {
        if mustBePublic { try PrivateHostRegistry.check(origin) }
        let held = request.body as? any HeldBody
        let patience =
          request.needsBody
          ? Self.patienceForNeeded : min(settings.headTimeout, Self.patienceForBody)
        let isHeld = request.body == nil || held != nil
        if isHeld, isPlain(request, prepared.request, over: route) {
          return try await plain(request, prepared.request, held, mustBePublic, patience)
        }
        var key = key(for: prepared.request, over: route, mustBePublic: mustBePublic)
        key.isNew = request.isSentOnce
        let client = try clients.client(for: key)
        defer { clients.release(key) }
        let message = try message(request, prepared.request, over: route)
        guard isHeld else {
          return try await stream(message, of: request, with: client, patience)
        }
        return try await exchange(message, held, of: request, with: client, patience)
      } catch let error as CancellationError {
        throw error
      } catch {
        try Task.checkCancellation()
        guard
          let next = tunnel(instead: route, to: origin, after: error, refusals: refusals)
        else { throw await mapped(error, of: prepared.request, over: route) }
        (route, refusals) = (next, refusals + 1)
      }
    }
  }

  /// Whether `PlainHTTPClient` sends it (decision 016).
  private func isPlain(
    _ request: SendRequest, _ fetch: FetchRequest, over route: Route
  ) -> Bool {
    route == .direct && request.url.origin.scheme == "http" && fetch.hasTextualHead
      && !request.isSentOnce
  }

  private func plain(
    _ request: SendRequest, _ fetch: FetchRequest, _ held: (any HeldBody)?, _ mustBePublic: Bool,
    _ patience: Duration
  ) async throws -> SendResponse {
    let method = HTTPMethod(rawValue: request.method)
    // RFC 9110, section 8.6: a method that usually has a body says that there is none.
    let length = held?.bytes.count ?? (method.mayOmitLength ? nil : 0)
    let head = head(of: fetch, method: method, length: length)
    try Self.checkLength(of: head.headers, fetch)
    return try await answer(to: request, held, patience) { exchange, loop in
      clients.direct.send(
        head, held.map { ByteBuffer(bytes: $0.bytes) }, to: request.url.origin,
        mustBePublic: mustBePublic, for: exchange, on: loop)
    }
  }

  private func exchange(
    _ message: HTTPClientRequest, _ held: (any HeldBody)?, of request: SendRequest,
    with client: HTTPClient, _ patience: Duration
  ) async throws -> SendResponse {
    let body = held.map { HTTPClient.Body.byteBuffer(ByteBuffer(bytes: $0.bytes)) }
    let sent = try HTTPClient.Request(
      url: message.url, method: message.method, headers: message.headers, body: body)
    return try await answer(to: request, held, patience) { exchange, loop in
      exchange.send(sent, with: client, on: loop)
    }
  }

  /// - Parameter send: sends the request with a client.
  private func answer(
    to request: SendRequest, _ held: (any HeldBody)?, _ patience: Duration,
    by send: (HeldExchange, any EventLoop) -> Void
  ) async throws -> SendResponse {
    let exchange = HeldExchange(
      request.method, held, maximumBody: Self.maximumBody, patience: TimeAmount(patience))
    let answer = try await exchange.perform {
      send(exchange, MultiThreadedEventLoopGroup.singleton.any())
    }
    return SendResponse(
      head: ResponseHead(
        status: Int(answer.head.status.code),
        headers: HeaderFields(answer.head.headers.map { ($0.name, $0.value) }), url: request.url,
        version: "\(answer.head.version)"),
      body: Array(answer.body.readableBytesView), isWhole: answer.isWhole)
  }

  private func stream(
    _ message: HTTPClientRequest, of request: SendRequest, with client: HTTPClient,
    _ patience: Duration
  ) async throws -> SendResponse {
    var message = message
    if let body = request.body {
      message.body = .stream(
        SendBuffers(base: body), length: request.length.map { .known($0) } ?? .unknown)
    }
    let answer = try await client.execute(message, deadline: .distantFuture)
    // Nothing comes that could be late.
    let isEmpty = answer.headers.first(name: "Content-Length") == "0"
    let (body, isWhole) =
      isEmpty
      ? await Self.start(of: answer.body)
      : await Self.start(of: answer.body, within: patience)
    return SendResponse(
      head: ResponseHead(
        status: Int(answer.status.code),
        headers: HeaderFields(answer.headers.map { ($0.name, $0.value) }), url: request.url,
        version: "\(answer.version)"),
      body: body, isWhole: isWhole)
  }

  private func message(
    _ request: SendRequest, _ fetch: FetchRequest, over route: Route
  ) throws(TransferError) -> HTTPClientRequest {
    var message = HTTPClientRequest(url: address(of: request.url, over: route))
    message.method = HTTPMethod(rawValue: request.method)
    message.headers = try headers(of: fetch, over: route)
    // The framing follows from the body.
    message.headers.remove(name: "Content-Length")
    message.headers.remove(name: "Transfer-Encoding")
    if request.isSentOnce { message.headers.replaceOrAdd(name: "Connection", value: "close") }
    return message
  }

  private static let maximumBody = 1 << 20
  private static let patienceForBody: Duration = .seconds(10)
  /// A store joins the parts of an object for minutes, and sends white space meanwhile.
  private static let patienceForNeeded: Duration = .seconds(900)

  /// - Parameter patience: how long it is waited for.
  private static func start(
    of body: HTTPClientResponse.Body, within patience: Duration
  ) async -> (bytes: [UInt8], isWhole: Bool) {
    return await withTaskGroup { group in
      group.addTask { Optional(await start(of: body)) }
      group.addTask {
        try? await Task.sleep(for: patience)  // it is cancelled when the body is there
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first ?? ([], false)
    }
  }

  /// What explains the answer. It may be cut off: status and fields decide.
  private static func start(
    of body: HTTPClientResponse.Body
  ) async -> (bytes: [UInt8], isWhole: Bool) {
    var bytes: [UInt8] = []
    do {
      for try await buffer in body {
        bytes += buffer.readableBytesView.prefix(maximumBody - bytes.count)
        if bytes.count >= maximumBody { return (bytes, false) }
      }
    } catch {
      return (bytes, false)
    }
    return (bytes, !Task.isCancelled)
  }
}

extension SendRequest {
  /// Whether it must not be sent again if its answer is lost (RFC 9110, section 9.2.2).
  fileprivate var isSentOnce: Bool { method == "POST" && body != nil }
}

extension HTTPMethod {
  fileprivate var mayOmitLength: Bool {
    switch self {
    case .GET, .HEAD, .DELETE, .TRACE: true
    default: false
    }
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
