package import HaulControl
import HaulKit
import HaulLibC
import HaulStore
import Hummingbird
import HummingbirdCore
package import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// The daemon: one stored list, and the control interface on a Unix socket, and for the web page
/// or `--listen` on ports and sockets too.
package struct Daemon: Sendable {
  private let location: ControlLocation
  private let settings: DaemonSettings
  private let readSettings: NewSettings.Read
  private let environment: [String: String]
  private let version: String
  private let logger: Logger
  private let redirects: RedirectFiles
  private let watch: ConfigurationWatch

  /// - Parameters:
  ///   - readSettings: called for a reload.
  ///   - environment: of the programs that are run, and of those that deliver notices.
  package init(
    at location: ControlLocation, _ settings: DaemonSettings,
    readSettings: @escaping NewSettings.Read, environment: [String: String], version: String,
    logger: Logger
  ) {
    (self.location, self.settings, self.readSettings) = (location, settings, readSettings)
    (self.environment, self.version, self.logger) = (environment, version, logger)
    redirects = RedirectFiles(in: location.redirects, clock: SystemClock())
    watch = ConfigurationWatch(environment)
  }

  /// Runs until SIGTERM, SIGINT or `POST /api/v1/shutdown`. Then all transfers are interrupted at a
  /// checkpoint, and resume when the daemon runs again.
  /// - Throws: `in-use` when another daemon has the list, and names it; `permission-denied` when
  ///   other users may write to the state directory; `io`; `disk-full`.
  package func run() async throws {
    try location.prepareDirectory()
    try location.checkSocket()
    var configuration = settings.configuration
    // Nothing is published while the umask of the process is that of the socket.
    configuration.isSuspended = true
    configuration.programEnvironment = environment
    let manager = try await TransferManager(directory: location.list, configuration)
    if let damage = manager.damage { logger.error("\(damage.message)") }
    let mask = umask(0o077)
    do {
      try await run(manager, mask: mask)
      await manager.shutdown()
    } catch {
      umask(mask)
      await manager.shutdown()
      throw error
    }
  }

  /// Serves and delivers notices until the end, while the list is locked: the next daemon makes a
  /// socket of the same name, and delivers the remaining notices.
  private func run(_ manager: TransferManager, mask: mode_t) async throws {
    let notifier = try await Notifier(
      settings.notices, at: location, manager, settings.configuration, settings.failedLists,
      environment: environment, logger: logger)
    let (begins, begin) = AsyncStream.makeStream(of: Void.self)
    let notifying = Task {
      // Its programs have the umask of the process, which is that of the socket until then.
      for await _ in begins {}
      if !Task.isCancelled { await notifier.run() }
      await notifier.close()
    }
    func end() async {
      notifying.cancel()
      await notifying.value
    }
    do {
      try await serve(manager, notifier, mask: mask) { begin.finish() }
    } catch {
      await end()
      throw error
    }
    unlink(location.socket)
    await end()
  }

  private func serve(
    _ manager: TransferManager, _ notifier: Notifier, mask: mode_t,
    onRunning: @escaping @Sendable () -> Void
  ) async throws {
    redirects.removeAll()
    defer { redirects.removeAll() }
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let registry = MetricsRegistry()
    let history = TransferHistory(
      clock: SystemClock(), file: StateFile(path: location.history), logger: logger)
    await history.restore()
    let limits = CurrentLimits(
      manager, settings.configuration, StateFile(path: location.limits))
    do {
      try await limits.restore()
    } catch {
      logger.error("the limits that were set last are not known: \(error)")
    }
    let keptEnds = NewestSetting(settings.keptEnds)
    let servers = try services(
      manager, registry, history, limits, notifier, keptEnds, mask: mask, onRunning
    ) { end.yield() }
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: servers.map { .init(service: $0) },
        gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
    let writer = LogWriter(LogFiles(path: location.transferLog), logger: logger)
    let counting = Task {
      await TransferMetricsCollector.run(manager, registry, history, logger, writer)
    }
    defer { counting.cancel() }
    let noting = Task { await Self.log(manager, limits, writer) }
    defer { noting.cancel() }
    let keeping = Task { await history.keep() }
    defer { keeping.cancel() }
    let tidying = Task {
      await keptEnds.run { kept in
        guard let kept else { return }
        var retention = Retention(manager, kept, clock: SystemClock(), logger: logger)
        await retention.run()
      }
    }
    defer { tidying.cancel() }
    let stopping = Task {
      for await _ in ends { await group.triggerGracefulShutdown() }
    }
    defer { stopping.cancel() }
    do {
      try await group.run()
    } catch {
      await history.save()
      throw error
    }
    await history.save()
  }

  /// Logs what happens to the queue and belongs to no transfer.
  private static func log(
    _ manager: TransferManager, _ limits: CurrentLimits, _ writer: LogWriter
  ) async {
    for await note in manager.notes {
      let origin = await limits.scheduleOrigin
      await writer.append([LogEntry(note, by: origin, time: SystemClock().wallSeconds)])
    }
  }

  /// Hummingbird's own messages say nothing that its user could use.
  private var quiet: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .error)
    return logger
  }
}

/// The servers.
extension Daemon {
  /// How many connections are open at once, and how many wait for that in the system.
  private struct Room {
    let open: Int
    let waiting: Int
  }

  /// Only programs of this user reach the socket, and each may hold one open for events. A Unix
  /// socket refuses those for which there is no room.
  private static let socketRoom = Room(open: 2048, waiting: 4096)
  private static let remoteClients = 128
  /// A stranger's own connection is closed once this many newer ones were opened.
  private static let remoteStrangers = 128
  /// Connections that are being closed still count. Few wait, because strangers may be among them.
  private static let remoteRoom = Room(open: remoteClients + remoteStrangers + 64, waiting: 256)
  /// The longest head of a request; no body is read before it.
  private static let maximumHead = 16 << 10
  private static let maximumFields = 100

  private func services(
    _ manager: TransferManager, _ registry: MetricsRegistry, _ history: TransferHistory,
    _ limits: CurrentLimits, _ notifier: Notifier, _ keptEnds: NewestSetting<KeptEnds?>,
    mask: mode_t, _ onRunning: @escaping @Sendable () -> Void,
    _ stop: @escaping @Sendable () -> Void
  ) throws -> [any Service] {
    let (logger, location, remote) = (logger, location, settings.remote)
    let (subscribers, probes) = (PlaceCount(), PlaceCount())
    let suspension = StateFile(path: location.suspended)
    let token = try ControlToken(file: location.token)
    let accessList = try AccessList(file: location.access)
    if let refusal = remote.refusal(hasPassword: accessList.password != nil) { throw refusal }
    let certificate = try remote.tls.map {
      try ServerCertificate($0, remote, at: location, logger)
    }
    let sessions = try WebSessions(
      file: location.sessions, keys: SessionKeys(token), clock: SystemClock(), access: accessList)
    let tries = NIOLockedValueBox(LoginTries())
    let own = OwnDirectories(
      [location.directory, ControlLocation.configuration(environment)].compactMap(\.self),
      watched: settings.watched)
    let reload = SettingsReload(
      readSettings, watch, limits, notifier.settings, keptEnds, certificate, own, logger)
    @Sendable func api(
      _ listener: WebListener, isLocal: Bool, _ hosts: AllowedHosts
    ) -> ControlAPI {
      ControlAPI(
        manager: manager, version: version, access: remote, accessList: accessList,
        ownDirectories: own, isLocal: isLocal, hosts: hosts, subscribers: subscribers,
        registry: registry, suspension: suspension, notices: notifier.board, sessions: sessions,
        redirects: redirects, listener: listener, history: history, limits: limits,
        probes: probes, settings: reload, stop: stop)
    }
    let listener = WebListener(remote, sessions, certificate, logger) {
      listener, address, listening in
      let hosts = AllowedHosts(isSecure: address.hasTLS && certificate != nil)
      let check = TokenCheck(token: token, sessions: sessions, access: accessList)
      let places = ConnectionPlaces(
        strangers: Self.remoteStrangers, clients: Self.remoteClients)
      let proxies = remote.proxyUsers.union([0, geteuid()])
      let login = LoginPage(
        access: accessList, sessions: sessions, hosts: hosts, isSocket: !address.hasTLS,
        proxies: proxies, tries: tries, clock: SystemClock(), logger: logger)
      let remoteServer = server(
        api(listener, isLocal: false, hosts), login, address.hasTLS ? certificate : nil,
        at: try address.bound(), [OriginCheck(hosts: hosts, servesPage: true), check],
        { [StrangerHandler(check, places), RequestTimeoutHandler(.stranger)] }, Self.remoteRoom
      ) { channel in
        let port = channel.localAddress?.port
        hosts.open(address, port: port, remote)
        logger.info("\(address.began(at: port)); the token is in \(location.token)")
        listening(port)
      }
      try await remoteServer.run()
      address.end()
    }
    let names = AllowedHosts(["localhost"])
    let socket = server(
      api(listener, isLocal: true, names), at: .unixDomainSocket(path: location.socket),
      [OriginCheck(hosts: names)],
      { [PeerCredentialHandler(logger: logger), RequestTimeoutHandler(.client)] },
      Self.socketRoom
    ) { _ in
      umask(mask)
      onRunning()
      if !suspension.exists { await manager.unsuspend() }
      logger.info("listening on \(location.socket)")
    }
    return [socket, listener, HangUpService(settings: reload, logger: logger)]
  }

  private func server(
    _ api: ControlAPI, _ login: LoginPage? = nil, _ certificate: ServerCertificate? = nil,
    at address: BindAddress,
    _ checks: [any MiddlewareProtocol<Request, Response, ConnectionContext>],
    _ handlers: @escaping @Sendable () -> [any RemovableChannelHandler], _ room: Room,
    onRunning: @escaping @Sendable (any Channel) async -> Void
  ) -> some Service {
    let router = Router(context: ConnectionContext.self)
    router.add(middleware: RequestMetrics(registry: api.registry, version: version))
    router.add(middleware: ProblemMiddleware())
    for check in checks { router.add(middleware: check) }
    api.addRoutes(to: router)
    if let login {
      WebPageFiles.addRoutes(to: router)
      login.addRoutes(to: router)
    }
    return Application(
      router: router,
      server: .http1(
        .init(
          additionalChannelHandlers: handlers(), idleTimeout: .seconds(60),
          httpDecoderConfiguration: .init(
            maxHeaderFieldSize: Self.maximumHead, maxHeaderListSize: Self.maximumHead,
            maxHeaderFieldCount: Self.maximumFields)), certificate),
      configuration: ApplicationConfiguration(
        address: address, backlog: room.waiting,
        availableConnectionsDelegate: MaximumAvailableConnections(room.open)),
      onServerRunning: onRunning, logger: quiet)
  }
}
