import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS

/// An HTTP server on 127.0.0.1 that misbehaves exactly as its script says.
public final class FaultServer: Sendable {
  /// The port on which it listens.
  public let port: Int
  package let tls: FaultServerTLS
  package let authority: CertificateAuthority

  private let state: FaultServerState
  private let group: MultiThreadedEventLoopGroup

  private init(
    port: Int, tls: FaultServerTLS, authority: CertificateAuthority, state: FaultServerState,
    group: MultiThreadedEventLoopGroup
  ) {
    self.port = port
    self.tls = tls
    self.authority = authority
    self.state = state
    self.group = group
  }

  /// Starts a server. Shut it down at the end.
  ///
  /// One thread (the default) makes counts exact: a response is over for the server before the
  /// client can send its next request. HTTP/2 is used only over TLS, and only with clients that
  /// request it.
  package static func start(
    _ script: FaultScript = FaultScript(), tls: FaultServerTLS = .none, host: String = "127.0.0.1",
    port: Int = 0, threads: Int = 1, http2: Bool = false,
    clientAuthority: CertificateAuthority? = nil,
    authority: CertificateAuthority? = nil
  ) async throws -> FaultServer {
    let authority = try authority ?? CertificateAuthority()
    let state = FaultServerState(script)
    let context = try authority.configuration(tls, http2: http2, clients: clientAuthority)
      .map { try NIOSSLContext(configuration: $0) }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
    do {
      let channel = try await bootstrap(group, state: state, context: context)
        .bind(host: host, port: port).get()
      return FaultServer(
        port: channel.localAddress?.port ?? port, tls: tls, authority: authority, state: state,
        group: group)
    } catch {
      try await group.shutdownGracefully()
      throw error
    }
  }

  private static func bootstrap(
    _ group: MultiThreadedEventLoopGroup, state: FaultServerState, context: NIOSSLContext?
  ) -> ServerBootstrap {
    ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_sndbuf), value: 128 * 1024)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(
        .writeBufferWaterMark, value: .init(low: 64 * 1024, high: 256 * 1024)
      )
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          guard let context else { return try addHTTP1(to: channel, state: state) }
          try pipeline.addHandler(NIOSSLServerHandler(context: context))
          try pipeline.addHandler(
            ApplicationProtocolNegotiationHandler { result in
              channel.eventLoop.makeCompletedFuture {
                if case .negotiated("h2") = result {
                  try HTTP2Connection.add(to: channel, state: state, now: now)
                } else {
                  try addHTTP1(to: channel, state: state)
                }
              }
            })
        }
      }
  }

  private static func addHTTP1(to channel: any Channel, state: FaultServerState) throws {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
    try pipeline.addHandler(FaultConnection(state: state, wire: .http1, now: now))
  }

  /// Seconds since 1970.
  private static let now: @Sendable () -> Int64 = { Int64(Date.now.timeIntervalSince1970) }

  /// Closes every connection and the port; returns when all of them have ended.
  public func shutdown() async throws {
    try await group.shutdownGracefully()
  }

  /// `http://127.0.0.1:PORT` or its https form.
  public var origin: String { "\(tls == .none ? "http" : "https")://127.0.0.1:\(port)" }

  /// The URL of a path, with another host name of this machine if given (`localhost`).
  package func url(_ path: String, host: String = "127.0.0.1") -> String {
    "\(tls == .none ? "http" : "https")://\(host):\(port)\(path)"
  }

  package var certificateAuthorityPEM: String { authority.pem }
}

// MARK: Steering

extension FaultServer {
  package var script: FaultScript { state.script }
  package var snapshot: FaultServerSnapshot { state.snapshot }

  /// Replaces the whole script; responses in progress do not change.
  package func replaceScript(_ script: FaultScript) { state.replace(script) }

  /// Adds a resource, or replaces the one with the same path.
  public func add(_ resource: FaultScript.Resource) { state.add(resource) }

  /// Changes a resource from its next request on; false if there is none with that path.
  @discardableResult
  package func update(_ path: String, _ change: (inout FaultScript.Resource) -> Void) -> Bool {
    state.update(path, change)
  }

  /// Replaces the faults of a resource and resets their counts.
  @discardableResult
  public func setFaults(_ path: String, _ faults: [Fault]) -> Bool {
    state.update(path) { $0.faults = faults }
  }

  /// Replaces content and strong entity tag, with the same length, as a new version of the file
  /// would.
  @discardableResult
  public func replaceContent(_ path: String, seed: UInt64) -> Bool {
    state.update(path) {
      $0.seed = seed
      $0.entityTag = FaultScript.Resource.strongTag(seed: seed)
    }
  }

  /// Releases the responses that a stall holds; returns their number.
  @discardableResult
  public func release(_ path: String? = nil) -> Int { state.release(path) }

  /// Resets every open connection at once.
  public func dropConnections() {
    for channel in state.channels {
      channel.pipeline.fireUserInboundEventTriggered(FaultConnection.Drop())
    }
  }

  /// The files that a server of uploads has below its path.
  package func files(below path: String) -> [String: [UInt8]] { state.files(below: path) }

  package func resetStatistics() { state.resetStatistics() }
}

// MARK: Waiting

extension FaultServer {
  /// A condition that was not met in time, with the state of the server.
  public struct TimedOut: Error, CustomStringConvertible {
    package let snapshot: FaultServerSnapshot
    /// The statistics of the server.
    public var description: String {
      "the server's condition was not met in time; counters \(snapshot.counters), "
        + "requests \(snapshot.requests.map { "\($0.method) \($0.target) \($0.range ?? "-")" })"
    }
  }

  /// Returns as soon as the condition is met.
  /// - Throws: `TimedOut` after `timeout`.
  package func waitUntil(
    timeout: Duration = .seconds(240),
    _ holds: @escaping @Sendable (FaultServerSnapshot) -> Bool
  ) async throws {
    let promise = group.any().makePromise(of: Void.self)
    let id = state.wait(promise, until: holds)
    let state = state
    let limit = group.any().scheduleTask(in: TimeAmount(timeout)) {
      if state.stopWaiting(id) { promise.fail(TimedOut(snapshot: state.snapshot)) }
    }
    defer { limit.cancel() }
    try await promise.futureResult.get()
  }

  /// Returns after so many requests, in total or for one path.
  public func waitForRequests(_ count: Int, path: String? = nil) async throws {
    try await waitUntil { snapshot in
      (path.map { snapshot.requestCount($0) } ?? snapshot.requests.count) >= count
    }
  }

  /// Returns when a stall holds so many responses of the path.
  public func waitForHeld(_ path: String, count: Int = 1) async throws {
    try await waitUntil { $0.held(path) >= count }
  }
}

/// Starts a server, runs `body`, and shuts the server down, also after an error.
package func withFaultServer<Result>(
  _ script: FaultScript, tls: FaultServerTLS = .none, http2: Bool = false,
  _ body: (FaultServer) async throws -> Result
) async throws -> Result {
  let server = try await FaultServer.start(script, tls: tls, http2: http2)
  let result: Result
  do {
    result = try await body(server)
  } catch {
    try await server.shutdown()
    throw error
  }
  try await server.shutdown()
  return result
}
