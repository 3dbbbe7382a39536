import ArgumentParser
package import HaulControl
import HaulCore
import HaulKit
import Logging

struct ServeCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Runs the daemon in the foreground.",
    discussion: """
      It ends on SIGTERM or Ctrl-C, or with 'haul daemon stop', with exit status 0; transfers \
      resume when it runs again. 'haul add' starts it in the background.
      """)

  /// The long names of the options that `haul get` does not have.
  static let ownOptions = ListenOptions.names.union(DaemonLimitOptions.names).union([
    "root", "private-redirects", "notify", "notify-sound", "webhook", "webhook-secret-file",
    "webhook-private", NoticeOptions.command, "keep-ended", "watch",
  ])

  @OptionGroup(title: "Speed") var speed: LimitOptions
  @OptionGroup(title: "Speed") var limits: DaemonLimitOptions
  @OptionGroup(title: "Network") var network: ConnectionOptions

  @OptionGroup(title: "Notices") var notices: NoticeOptions

  @OptionGroup(title: "Web page and programs") var listening: ListenOptions

  @Option(
    help: ArgumentHelp(
      """
      Downloads added on the web page or over --listen may write only below this directory; may \
      be repeated (default: ~/Downloads).
      """, valueName: "DIR"))
  var root: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      Keep what is completed or cancelled in the list for this time (30d), or that many of them \
      (1000) (default: all).
      """, valueName: "TIME|N"),
    transform: ArgumentValue.keptEnds)
  var keepEnded: KeptEnds?

  @Option(
    help: ArgumentHelp(
      "Add the lists that are dropped into this directory, as 'haul add -i' does.",
      valueName: "DIR"),
    completion: .directory)
  var watch: String?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Let a public host redirect to this machine or a private network.")
  var privateRedirects: Bool?

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print the internal log too.")
  var verbose: Bool?

  func overriddenSettings() throws(UsageError) -> Set<String>? {
    guard notices.notifyCommand.isEmpty else {
      throw UsageError(
        "\(NoticeOptions.command) is for the configuration file only: see docs/daemon.md")
    }
    return Settings.overridden(by: network).union(listening.overridden)
      .union(limits.overridden)
  }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    var managerOptions = try ManagerOptions(speed, network)
    try limits.apply(to: &managerOptions)
    let notices = try NoticeSettings(notices, sources)
    let roots = root.isEmpty ? Self.downloads(sources.environment) : root
    guard roots.allSatisfy(\.isAbsolutePath) else {
      throw UsageError("--root needs the absolute path of a directory")
    }
    guard watch?.isAbsolutePath ?? true else {
      throw UsageError("--watch needs the absolute path of a directory")
    }
    guard watch == nil || !roots.isEmpty else {
      throw UsageError("--watch needs --root, for the files of its lists")
    }
    if let watch, roots.contains(where: { FilePath($0).names(below: FilePath(watch)) != nil }) {
      throw UsageError(
        "--watch \(watch): downloads go there (--root); give a directory for lists alone")
    }
    return ServePlan(
      managerOptions: managerOptions, remote: try listening.access(roots),
      allowsPrivateRedirects: privateRedirects ?? false, verbose: verbose ?? false,
      notices: notices, keptEnds: keepEnded, watched: watch)
  }

  /// The usual directory of downloads; the user may have chosen another one for programs.
  private static func downloads(_ environment: [String: String]) -> [String] {
    if let chosen = environment["XDG_DOWNLOAD_DIR"], chosen.isAbsolutePath { return [chosen] }
    return environment["HOME"].map { ["\($0)/Downloads"] } ?? []
  }
}

/// What `haul serve` runs with.
package struct ServePlan: CommandPlan, Hashable {
  package var managerOptions: ManagerOptions
  package var remote: RemoteAccess
  /// Whether a public host may redirect to a private address.
  package var allowsPrivateRedirects: Bool
  package var verbose: Bool
  package var notices: NoticeSettings
  package var keptEnds: KeptEnds?
  /// The directory into which lists are dropped.
  package var watched: String?

  package func run(in context: ProcessContext) async -> ExitStatus {
    let log = DaemonLog(context.environment, level: verbose ? .debug : .info)
    if let refusal = context.limits.refusal { return await log.fail(refusal) }
    // The terminal that started it may be closed. Once it runs, the signal is a reload.
    Signals.ignoreHangUp()
    var options = managerOptions
    if let lowered = context.limits.apply(to: &options) { await log.warn(lowered) }
    do {
      let environment = ProgramEnvironment.allowed(of: context.environment)
      let logger = log.logger
      let location = try ControlLocation(environment: environment)
      let reload = ServeReload(self, context, environment, logger)
      let failed = FailedLists()
      let watching = Task {
        await reload.watched.run { directory in
          guard let directory else { return }
          let folder = WatchFolder(
            directory: directory, destination: remote.roots.first ?? directory,
            location: location, context: context, failed: failed, logger: logger)
          await folder.run()
        }
      }
      defer { watching.cancel() }
      try await context.serve(
        location, try settings(context, environment, logger, failed), { try await reload.read() },
        environment, logger)
      return .completed
    } catch {
      return await log.fail(error)
    }
  }

  /// What the daemon would run with if it were started now; nobody is asked for a password.
  static func configured(_ sources: CommandSources) throws(UsageError) -> ServePlan {
    var sources = sources
    sources.askPassword = { (_) throws(UsageError) in nil }
    guard let plan = try Invocation.plan(["serve"], from: sources) as? ServePlan else {
      throw UsageError("the daemon's options cannot be read")
    }
    return plan
  }

  /// - Throws: when the given proxy cannot be read.
  func settings(
    _ context: ProcessContext, _ environment: [String: String], _ logger: Logger,
    _ failed: FailedLists = FailedLists()
  ) throws(TransferError) -> DaemonSettings {
    var options = managerOptions
    _ = context.limits.apply(to: &options)
    var configuration = try options.configuration(
      logger: logger, environment: environment, isAttended: false)
    configuration.refusesPrivateRedirects = !allowsPrivateRedirects
    configuration.keyAccess = S3KeyAccess(context.environment)
    return DaemonSettings(
      configuration, remote: remote, notices: notices, keptEnds: keptEnds, watched: watched,
      failedLists: failed)
  }
}
