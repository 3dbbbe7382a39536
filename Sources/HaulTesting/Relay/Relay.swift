import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Forwards TCP connections to a server, and behaves like a slow, limited or failing network.
package final class Relay: Sendable {
  package let port: Int
  private let group: MultiThreadedEventLoopGroup
  private let record: NIOLockedValueBox<RelaySnapshot>

  /// Allocates buffers of the size after which a connection may be reset.
  static let allocator = FixedSizeRecvByteBufferAllocator(capacity: RelayFlow.bufferSize)

  private init(
    port: Int, group: MultiThreadedEventLoopGroup, record: NIOLockedValueBox<RelaySnapshot>
  ) {
    self.port = port
    self.group = group
    self.record = record
  }

  package var snapshot: RelaySnapshot { record.withLockedValue { $0 } }

  /// Starts a relay on 127.0.0.1 to that server. Shut it down at the end.
  package static func start(
    _ rules: RelayRules = RelayRules(), to host: String = "127.0.0.1", port serverPort: Int,
    listeningOn port: Int = 0
  ) async throws -> Relay {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let record = NIOLockedValueBox(RelaySnapshot())
    do {
      let loop = group.next()
      let hub = try await loop.submit {
        NIOLoopBound(
          RelayHub(rules, host: host, port: serverPort, record: record, eventLoop: loop),
          eventLoop: loop)
      }.get()
      let channel = try await bootstrap(group, hub).bind(host: "127.0.0.1", port: port).get()
      return Relay(port: channel.localAddress?.port ?? port, group: group, record: record)
    } catch {
      try await group.shutdownGracefully()
      throw error
    }
  }

  private static func bootstrap(
    _ group: MultiThreadedEventLoopGroup, _ hub: NIOLoopBound<RelayHub>
  ) -> ServerBootstrap {
    ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.recvAllocator, value: allocator)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try hub.value.accept(channel) }
      }
  }

  /// Closes every connection and the port; returns when all of them have ended.
  package func shutdown() async throws {
    try await group.shutdownGracefully()
  }
}

/// Starts a relay to a server's port, runs `body`, and shuts the relay down, also after an error.
package func withRelay<Result>(
  _ rules: RelayRules = RelayRules(), port: Int, _ body: (Relay) async throws -> Result
) async throws -> Result {
  let relay = try await Relay.start(rules, port: port)
  let result: Result
  do {
    result = try await body(relay)
  } catch {
    try await relay.shutdown()
    throw error
  }
  try await relay.shutdown()
  return result
}
