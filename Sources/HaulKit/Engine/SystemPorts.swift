package import HaulCore
import HaulFiles
import HaulHTTP
import NIOPosix

/// The ports that somebody brings in place of this machine's own; nil where it is to be that.
package struct ReplacedPorts: Sendable {
  package var transport: (any Transport)?
  package var disk: (any Disk)?
  package var clock: (any TransferClock)?
  package var network: (any NetworkState)?

  package init(transport: (any Transport)? = nil) { self.transport = transport }
}

/// The network, the disk and the clock of this machine, for one manager.
struct SystemPorts {
  let engine: Engine
  /// Lets go of threads and connections.
  let shutdown: @Sendable () async -> Void

  private static let fileThreads = 4

  private static var programs: (any Programs)? {
    #if canImport(Glibc)
      LinuxPrograms()
    #else
      nil
    #endif
  }

  /// Opens no client of its own where a transport is given, which stays with whoever has made it.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `internal`
  ///   for a schedule that is none.
  init(
    _ configuration: TransferManager.Configuration, _ replaced: ReplacedPorts = ReplacedPorts()
  ) throws(TransferError) {
    var hours: LocalSchedule?
    if let schedule = configuration.schedule { hours = try LocalSchedule(schedule) }
    let transport: any Transport
    let closeTransport: @Sendable () async -> Void
    if let callers = replaced.transport {
      (transport, closeTransport) = (CallersTransport(base: callers), {})
    } else {
      let own = try HTTPTransport(HTTPTransport.Settings(configuration))
      (transport, closeTransport) = (own, { await own.shutdown() })
    }
    let pool = NIOThreadPool(numberOfThreads: Self.fileThreads)
    pool.start()
    let clock = replaced.clock ?? SystemClock()
    engine = Engine(
      transport: transport, disk: replaced.disk ?? POSIXDisk(),
      io: BlockingIO(pool: pool, clock: clock), clock: clock, configuration: configuration,
      hooks: configuration.hooks, executors: replaced.transport == nil ? LoopExecutor.all : [],
      network: replaced.network ?? SystemNetwork(), programs: Self.programs, hours: hours)
    shutdown = {
      await closeTransport()
      // Fails only when it was stopped before.
      try? await pool.shutdownGracefully()
    }
  }

  /// The same, and a store; not on the caller's actor, as certificates are read from files.
  /// - Parameter store: opens it; waits are measured with the clock that it gets.
  /// - Throws: as `init`, and what `store` throws; nothing is left open then.
  @concurrent static func open<Opened: Sendable>(
    _ configuration: TransferManager.Configuration, _ replaced: ReplacedPorts,
    _ store: @Sendable (any TransferClock) async throws(TransferError) -> Opened
  ) async throws(TransferError) -> (ports: SystemPorts, store: Opened) {
    let ports = try SystemPorts(configuration, replaced)
    do throws(TransferError) {
      return (ports, try await store(ports.engine.clock))
    } catch {
      await ports.shutdown()
      throw error
    }
  }
}

extension HTTPTransport.Settings {
  /// What a configuration says of connections.
  fileprivate init(_ configuration: TransferManager.Configuration) {
    self.init()
    connectTimeout = configuration.connectTimeout
    headTimeout = configuration.idleTimeout
    certificateAuthorities = configuration.certificateAuthorities
    clientCertificate = configuration.clientCertificate
    minimumTLS = configuration.minimumTLS
    proxies = configuration.proxies
    addressFamily = configuration.addressFamily
    localAddress = configuration.localAddress
    addresses = configuration.addresses
    userAgent = configuration.userAgent
  }
}
