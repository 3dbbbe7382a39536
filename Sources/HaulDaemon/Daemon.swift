package import HaulControl
package import HaulKit
import HaulStore
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The daemon: one stored list, and the control interface on a Unix socket.
package struct Daemon: Sendable {
  private let location: ControlLocation
  private let configuration: TransferManager.Configuration
  private let version: String
  private let logger: Logger
  package init(
    at location: ControlLocation, _ configuration: TransferManager.Configuration, version: String,
    logger: Logger
  ) {
    (self.location, self.configuration, self.version) = (location, configuration, version)
    self.logger = logger
  }

  /// Runs until SIGTERM, SIGINT or `POST /api/v1/shutdown`. Then all transfers are interrupted at a
  /// checkpoint, and resume when the daemon runs again.
  /// - Throws: `in-use` when another daemon has the list, and names it; `permission-denied` when
  ///   other users may write to the state directory; `io`; `disk-full`.
  package func run() async throws {
    try location.prepareDirectory()
    var configuration = configuration
    // Nothing is published while the umask of the process is that of the socket.
    configuration.isSuspended = true
    let manager = try await TransferManager(directory: location.list, configuration)
    if let damage = manager.damage { logger.error("\(damage.message)") }
    let (logger, location) = (logger, location)
    let mask = umask(0o077)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let application = Application(
      router: router(manager) { end.yield() },
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [PeerCheck(logger: logger), RequestDeadline()],
          idleTimeout: .seconds(60))),
      configuration: ApplicationConfiguration(
        address: .unixDomainSocket(path: location.socket),
        availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
      onServerRunning: { _ in
        umask(mask)
        await manager.unsuspend()
        logger.info("listening on \(location.socket)")
      }, logger: quiet)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [application].map { .init(service: $0) },
        gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
    let stopping = Task {
      for await _ in ends { await group.triggerGracefulShutdown() }
    }
    defer { stopping.cancel() }
    do {
      try await group.run()
    } catch {
      umask(mask)
      await manager.shutdown()
      throw error
    }
    // While the list is still locked: the next daemon makes a socket of this name.
    unlink(location.socket)
    await manager.shutdown()
  }

  /// Only programs of this user reach the socket, and each may hold one open for events.
  private static let maximumConnections = 1024

  /// Hummingbird's own messages say nothing that its user could use.
  private var quiet: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .error)
    return logger
  }

  private func router(
    _ manager: TransferManager, _ stop: @escaping @Sendable () -> Void
  ) -> Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: ProblemMiddleware())
    router.add(middleware: OriginCheck())
    ControlAPI(manager: manager, version: version, stop: stop).addRoutes(to: router)
    return router
  }
}
