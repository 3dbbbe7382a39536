import HaulCore
import HaulFiles
import HaulHTTP
import HaulStore
import NIOPosix

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

  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `internal`
  ///   for a schedule that is none.
  init(_ configuration: TransferManager.Configuration) throws(TransferError) {
    var hours: LocalSchedule?
    if let schedule = configuration.schedule { hours = try LocalSchedule(schedule) }
    var settings = HTTPTransport.Settings()
    settings.connectTimeout = configuration.connectTimeout
    settings.headTimeout = configuration.idleTimeout
    settings.certificateAuthorities = configuration.certificateAuthorities
    settings.clientCertificate = configuration.clientCertificate
    settings.minimumTLS = configuration.minimumTLS
    settings.proxies = configuration.proxies
    settings.addressFamily = configuration.addressFamily
    settings.localAddress = configuration.localAddress
    settings.addresses = configuration.addresses
    settings.userAgent = configuration.userAgent
    let transport = try HTTPTransport(settings)
    let pool = NIOThreadPool(numberOfThreads: Self.fileThreads)
    pool.start()
    let clock = SystemClock()
    engine = Engine(
      transport: transport, disk: POSIXDisk(), io: BlockingIO(pool: pool, clock: clock),
      clock: clock, configuration: configuration, hooks: configuration.hooks,
      executors: LoopExecutor.all,
      network: SystemNetwork(), programs: Self.programs, hours: hours)
    shutdown = {
      await transport.shutdown()
      // Fails only when it was stopped before.
      try? await pool.shutdownGracefully()
    }
  }

  /// The same, and the list that is kept in a directory; not on the caller's actor, as certificates
  /// are read from files.
  /// - Throws: as `TransferManager.init(directory:)`; nothing is left open then.
  @concurrent static func open(
    _ directory: String, _ configuration: TransferManager.Configuration, ifDamaged: DamagedList
  ) async throws(TransferError) -> (ports: SystemPorts, store: SQLiteStore) {
    try directory.checkPath()
    let ports = try SystemPorts(configuration)
    var options = SQLiteStore.Options()
    options.ifCorrupt = ifDamaged == .startEmpty ? .startEmpty : .refuse
    options.passes = { configuration.hooks.passes(.storing) }
    do throws(TransferError) {
      let store = try await SQLiteStore(
        directory: directory, clock: ports.engine.clock, options: options)
      return (ports, store)
    } catch {
      await ports.shutdown()
      throw error
    }
  }
}
