package import HaulControl
import HaulCore
import HaulKit
import HaulLibC
import Logging

/// Reads haul.conf again for a daemon that runs.
actor ServeReload {
  private let first: ServePlan
  /// What counts now.
  private var current: ServePlan
  private let context: ProcessContext
  private let environment: [String: String]
  private let logger: Logger
  /// The directory into which lists are dropped.
  nonisolated let watched: NewestSetting<String?>

  init(
    _ plan: ServePlan, _ context: ProcessContext, _ environment: [String: String], _ logger: Logger
  ) {
    (first, current, self.context) = (plan, plan, context)
    (self.environment, self.logger) = (environment, logger)
    watched = NewestSetting(plan.watched)
  }

  /// - Throws: `Problem` (422) with the line that is wrong.
  func read() throws -> NewSettings {
    let isMissing = try isMissing()
    var sources = CommandSources.process()
    sources.askPassword = { (_) throws(UsageError) in nil }
    do {
      guard let plan = try Invocation.plan(context.arguments, from: sources) as? ServePlan else {
        throw UsageError("the daemon was started by another command")
      }
      // What it says of downloads counts for the next list that is dropped.
      _ = try Invocation.plan(["add", "http://localhost/"], from: sources)
      var changes = plan.changes(since: current, startedWith: first)
      if isMissing { changes.isMissing = true }
      return NewSettings(
        try plan.settings(context, environment, logger), changes, apply: { await self.apply(plan) })
    } catch {
      let reason = (error as? UsageError)?.message ?? (error as? TransferError)?.message
      throw Problem(422, "Unprocessable Content", reason ?? "\(error)")
    }
  }

  /// Whether there is no haul.conf.
  /// - Throws: for a pipe: opening it without a writer waits for ever, and the daemon with it.
  private func isMissing() throws(Problem) -> Bool {
    var status = stat()
    guard let directory = ControlLocation.configuration(environment) else { return true }
    guard stat("\(directory)/haul.conf", &status) == 0 else { return errno == ENOENT }
    guard status.st_mode & S_IFMT == S_IFIFO else { return false }
    throw Problem(422, "Unprocessable Content", "haul.conf is a pipe, not a file")
  }

  private func apply(_ plan: ServePlan) {
    if plan.watched != current.watched { watched.set(plan.watched) }
    current = plan
  }
}

/// What a reload changes.
extension ServePlan {
  /// - Parameters:
  ///   - current: what counts now.
  ///   - first: what the daemon was started with.
  package func changes(since current: ServePlan, startedWith first: ServePlan) -> ReloadDocument {
    ReloadDocument(
      changed: Self.atOnce.filter { $0.differs(self, current) }.map(\.name),
      needsRestart: Self.afterRestart.filter { $0.differs(self, first) }.map(\.name))
  }

  /// A key of the configuration file, and the value of the plan that it sets.
  private struct Key: Sendable {
    let name: String
    let differs: @Sendable (ServePlan, ServePlan) -> Bool

    init<Value: Equatable & Sendable>(
      _ name: String, _ path: any KeyPath<ServePlan, Value> & Sendable
    ) {
      self.name = name
      differs = { $0[keyPath: path] != $1[keyPath: path] }
    }
  }

  private static let atOnce = [
    Key("max-active", \.managerOptions.maximumActive),
    Key("max-per-host", \.managerOptions.maximumActivePerHost),
    Key("max-connections", \.managerOptions.maximumConnections),
    Key("max-connections-per-host", \.managerOptions.connectionsPerHost),
    Key("limit-rate", \.managerOptions.rateLimit),
    Key("schedule", \.managerOptions.schedule),
    Key("notify", \.notices.level), Key("notify-sound", \.notices.hasSound),
    Key("webhook", \.notices.webhook?.url),
    Key("webhook-secret-file", \.notices.webhook?.secret),
    Key("webhook-private", \.notices.webhook?.mayBePrivate),
    Key("notify-command", \.notices.command),
    Key("keep-ended", \.keptEnds), Key("watch", \.watched),
  ]

  /// Connections and listeners have these from their beginning.
  private static let afterRestart = [
    Key("listen", \.remote.listeners), Key("host", \.remote.hosts),
    Key("public-url", \.remote.publicURL), Key("proxy-user", \.remote.proxyUsers),
    Key("root", \.remote.roots),
    Key("tls-cert, tls-key, tls-self-signed", \.remote.tls),
    Key("private-redirects", \.allowsPrivateRedirects), Key("verbose", \.verbose),
    Key("cacert", \.managerOptions.certificateAuthorities),
    Key("cert, key", \.managerOptions.clientCertificate),
    Key("tls-min", \.managerOptions.minimumTLS),
    Key("http1.1, http2", \.managerOptions.httpVersion),
    Key("proxy", \.managerOptions.proxy), Key("noproxy", \.managerOptions.noProxy),
    Key("interface", \.managerOptions.localAddress), Key("resolve", \.managerOptions.addresses),
    Key("user-agent", \.managerOptions.userAgent),
    Key("connect-timeout", \.managerOptions.connectTimeout),
    Key("idle-timeout", \.managerOptions.idleTimeout),
  ]
}
