import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A small proxy on 127.0.0.1: HTTP with CONNECT and absolute form, or SOCKS5, with or without a
/// password.
package final class ProxyServer: Sendable {
  package enum Kind: Sendable { case http, socks5 }

  /// What the proxy requires of clients, and how it misbehaves.
  package struct Rules: Sendable {
    package var user: String?
    package var password = ""
    /// Header fields that are not passed on.
    package var strips: Set<String> = []
    /// Refuses every tunnel: with 403, or with the SOCKS5 code for a rule.
    package var refuses = false
    /// Answers requests without this text in a line of their head with 407.
    package var wantsText: String?
    /// The value of `Proxy-Authenticate` in a 407.
    package var challenge = "Basic realm=\"p\""
    /// Opens every tunnel, and closes it at once.
    package var closesTunnels = false
    /// The answer of an HTTP proxy that opens a tunnel.
    package var opening = "HTTP/1.1 200 Open\r\n\r\n"
    /// Answers the TLS handshake in a tunnel of an HTTP proxy with this alert (RFC 8446, section
    /// 6).
    package var alert: UInt8?
    /// The port to which every connection leads, in place of the requested one.
    package var port: Int?
    /// The host to which every connection leads, in place of the requested one.
    package var host: String?

    package init() {}
  }

  /// A request of a client.
  package struct Request: Hashable, Sendable {
    /// `CONNECT host:port`, `GET http://…` or `SOCKS host:port`.
    package let line: String
    /// The fields of its head, each as `Name: value`.
    package let fields: [String]
  }

  package let port: Int
  private let group: MultiThreadedEventLoopGroup
  private let seen: NIOLockedValueBox<[Request]>

  private init(
    port: Int, group: MultiThreadedEventLoopGroup, seen: NIOLockedValueBox<[Request]>
  ) {
    self.port = port
    self.group = group
    self.seen = seen
  }

  /// Every request, in order of arrival.
  package var requests: [Request] { seen.withLockedValue { $0 } }

  /// Starts a proxy, runs `body`, and shuts the proxy down, also after an error.
  package static func with<Value>(
    _ kind: Kind, _ rules: Rules = Rules(), _ body: (ProxyServer) async throws -> Value
  ) async throws -> Value {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let seen = NIOLockedValueBox<[Request]>([])
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let note: @Sendable (Request) -> Void = { request in
            seen.withLockedValue { $0.append(request) }
          }
          try channel.pipeline.syncOperations.addHandler(
            ProxyConnection(kind, rules, note: note))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let server = ProxyServer(
      port: channel.localAddress?.port ?? 0, group: group, seen: seen)
    do {
      let value = try await body(server)
      try await group.shutdownGracefully()
      return value
    } catch {
      try await group.shutdownGracefully()
      throw error
    }
  }
}
