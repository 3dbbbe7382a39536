package import HaulCore
import HaulFiles
package import HaulHTTP
import NIOPosix

/// Ports that replace those of this machine; nil for the machine's own.
package struct PortOverrides: Sendable {
  package var transport: (any Transport)?
  package var disk: (any Disk)?
  package var clock: (any TransferClock)?
  package var network: (any NetworkState)?

  package init(transport: (any Transport)? = nil) { self.transport = transport }
}

/// The network, the disk and the clock of this machine, for one manager.
struct SystemPorts {
  let engine: Engine
  /// Releases threads and connections.
  let shutdown: @Sendable () async -> Void

  private static let fileThreads = 4

  private static func programs(_ environment: [String: String]?) -> (any Programs)? {
    #if canImport(Glibc)
      environment.map { LinuxPrograms(environment: $0) } ?? LinuxPrograms()
    #else
      nil
    #endif
  }

  /// A given transport is used instead of an HTTP client, and is not shut down.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `refused`
  ///   for an invalid schedule.
  init(
    _ configuration: TransferManager.Configuration, _ replaced: PortOverrides = PortOverrides()
  ) throws(TransferError) {
    var localSchedule: LocalSchedule?
    if let schedule = configuration.schedule { localSchedule = try LocalSchedule(schedule) }
    let transport: any Transport
    let closeTransport: @Sendable () async -> Void
    let endSession: @Sendable (TransferID) -> Void
    if let callers = replaced.transport {
      (transport, closeTransport) = (ErrorMappingTransport(base: callers), {})
      endSession = { _ in }
    } else {
      let own = try HTTPTransport(HTTPTransport.Settings(configuration))
      (transport, closeTransport) = (own, { await own.shutdown() })
      endSession = { own.endSession($0) }
    }
    let pool = NIOThreadPool(numberOfThreads: Self.fileThreads)
    pool.start()
    let clock = replaced.clock ?? SystemClock()
    engine = Engine(
      transport: transport, disk: replaced.disk ?? POSIXDisk(),
      io: BlockingIO(pool: pool, clock: clock), clock: clock, configuration: configuration,
      hooks: configuration.hooks, executors: replaced.transport == nil ? LoopExecutor.all : [],
      network: replaced.network ?? SystemNetwork(),
      programs: Self.programs(configuration.programEnvironment),
      localSchedule: localSchedule, endSession: endSession)
    shutdown = {
      await closeTransport()
      // Fails only when the pool was stopped before.
      try? await pool.shutdownGracefully()
    }
  }

  /// Opens the ports and a store; not on the caller's actor, because it reads certificate files.
  /// - Parameter store: opens the store; the clock measures its waits.
  /// - Throws: as `init`, and what `store` throws; then nothing stays open.
  @concurrent static func open<Opened: Sendable>(
    _ configuration: TransferManager.Configuration, _ replaced: PortOverrides,
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
  /// The settings of a configuration that concern connections.
  package init(_ configuration: TransferManager.Configuration) {
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
    refusesPrivateRedirects = configuration.refusesPrivateRedirects
    session = configuration.session
    followsRedirect = configuration.followsRedirect
  }
}
