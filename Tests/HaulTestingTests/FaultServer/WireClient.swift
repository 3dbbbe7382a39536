import HaulTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

/// A client that sends and receives bytes, and reports how a connection ended. It uses no HTTP
/// library.
final class WireClient {
  enum End: Equatable {
    case eof, reset, unclean
    case other(String)
  }

  enum Event: Sendable {
    case bytes([UInt8])
    case failed(any Error)
  }

  private let channel: any Channel
  private var events: AsyncStream<Event>.AsyncIterator
  /// Received bytes that were not yet taken.
  private(set) var pending: [UInt8] = []
  private var failure: (any Error)?
  private var isAtEnd = false

  private init(channel: any Channel, events: AsyncStream<Event>) {
    self.channel = channel
    self.events = events.makeAsyncIterator()
  }

  static func connect(
    _ server: FaultServer, tls: TLSConfiguration? = nil, host: String = "localhost"
  ) async throws -> WireClient {
    try await connect(port: server.port, tls: tls, host: host)
  }

  static func connect(
    port: Int, tls: TLSConfiguration? = nil, host: String = "localhost"
  ) async throws -> WireClient {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    let context = try tls.map { try NIOSSLContext(configuration: $0) }
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let context {
            try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: host))
          }
          try pipeline.addHandler(Collector(continuation))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    return WireClient(channel: channel, events: events)
  }

  func send(_ text: String) async throws {
    try await channel.writeAndFlush(channel.allocator.buffer(string: text))
  }

  /// Ends its output, and continues to receive.
  func endSending() async throws {
    try await channel.close(mode: .output)
  }

  func close() async {
    // The other side may have closed it already.
    try? await channel.close()
  }

  private func receive() async -> Bool {
    guard !isAtEnd else { return false }
    switch await events.next(isolation: #isolation) {
    case .bytes(let bytes): pending += bytes
    case .failed(let error): failure = failure ?? error
    case nil: isAtEnd = true
    }
    return !isAtEnd
  }

  /// Exactly `count` bytes, or fewer if the connection ends before.
  func take(_ count: Int) async -> [UInt8] {
    while pending.count < count, await receive() {}
    defer { pending.removeFirst(min(count, pending.count)) }
    return Array(pending.prefix(count))
  }

  /// All bytes up to the end of the connection.
  func takeToEnd() async -> (bytes: [UInt8], end: End) {
    while await receive() {}
    defer { pending = [] }
    return (pending, end)
  }

  private var end: End {
    switch failure {
    case nil: .eof
    case let error as IOError where error.errnoCode == ECONNRESET: .reset
    case let error as NIOSSLError where error == .uncleanShutdown: .unclean
    case let error?: .other("\(error)")
    }
  }

  /// The bytes of a head including its empty line, or all bytes if it never ends.
  func takeHead() async -> WireHead {
    let mark = Array("\r\n\r\n".utf8)
    var searched = 0
    while true {
      if let index = pending.firstIndex(of: mark, from: max(0, searched - 3)) {
        return WireHead(await take(index + mark.count))
      }
      searched = pending.count
      guard await receive() else { return WireHead(await take(pending.count)) }
    }
  }

  /// A head and as many body bytes as its `Content-Length` says (none for HEAD).
  func takeResponse(hasBody: Bool = true) async -> WireResponse {
    let head = await takeHead()
    let length = hasBody ? head["Content-Length"].flatMap(Int.init) ?? 0 : 0
    return WireResponse(head: head, body: await take(length))
  }

  /// Sends a GET on this connection and takes its response.
  func get(_ path: String, _ fields: String...) async throws -> WireResponse {
    try await request("GET", path, fields)
    return await takeResponse()
  }

  /// Sends a GET and checks the status.
  func expect(
    _ status: Int, _ path: String, _ fields: String...,
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    try await request("GET", path, fields)
    let response = await takeResponse()
    #expect(response.status == status, sourceLocation: location)
  }

  func request(_ method: String, _ path: String, _ fields: [String] = []) async throws {
    let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + fields + ["", ""]
    try await send(lines.joined(separator: "\r\n"))
  }
}

private final class Collector: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let continuation: AsyncStream<WireClient.Event>.Continuation

  init(_ continuation: AsyncStream<WireClient.Event>.Continuation) {
    self.continuation = continuation
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    continuation.yield(.bytes(Array(unwrapInboundIn(data).readableBytesView)))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    continuation.yield(.failed(error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    continuation.finish()
  }
}

/// A status line and fields as received.
struct WireHead {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var text: String { String(decoding: bytes, as: UTF8.self) }
  var lines: [String] { text.split(separator: "\r\n").map(String.init) }
  var statusLine: String { lines.first ?? "" }
  var status: Int? { statusLine.split(separator: " ").dropFirst().first.flatMap { Int($0) } }

  func values(_ name: String) -> [String] {
    lines.dropFirst().compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
      return String(parts[1].drop { $0 == " " })
    }
  }

  subscript(_ name: String) -> String? { values(name).first }
}

struct WireResponse {
  let head: WireHead
  let body: [UInt8]

  var status: Int? { head.status }
}

extension Array<UInt8> {
  func firstIndex(of mark: [UInt8], from start: Int = 0) -> Int? {
    guard count >= start + mark.count else { return nil }
    return (start...(count - mark.count)).first { index in
      self[index] == mark[0] && self[index..<(index + mark.count)].elementsEqual(mark)
    }
  }
}

/// Runs `body` with one resource `/f` and one connection to its server.
func withResource(
  length: Int64 = 100_000, seed: UInt64 = 42, _ faults: Fault...,
  change: (inout FaultScript.Resource) -> Void = { _ in },
  body: (WireClient, FaultServer) async throws -> Void
) async throws {
  let resource = FaultScript.Resource("/f", seed: seed, length: length, faults: faults)
    .with(change)
  try await withFaultServer(FaultScript([resource])) { server in
    let client = try await WireClient.connect(server)
    try await body(client, server)
    await client.close()
  }
}

let content = SeededContent(seed: 42)
