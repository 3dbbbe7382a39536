import ArgumentParser
import HaulControl
import HaulCore

/// The arguments of `haul serve`; `ServePlan` interprets them.
struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Runs the daemon in the foreground.",
    discussion: """
      It ends on SIGTERM or Ctrl-C, or with 'haul daemon stop', with exit status 0; transfers \
      resume when it runs again. 'haul add' starts it in the background.
      """)

  /// The long names of the options that `haul get` does not have.
  static let ownOptions: Set = [
    "listen", "root", "private-redirects", "notify", "notify-sound", "webhook",
    "webhook-secret-file", "webhook-private", NoticeOptions.command,
  ]

  @OptionGroup(title: "Speed") var speed: LimitOptions
  @OptionGroup(title: "Network") var network: ConnectionOptions

  @OptionGroup(title: "Notices") var notices: NoticeOptions

  @Option(
    help: ArgumentHelp(
      "Serve the control interface on this loopback address too, for clients with the token.",
      valueName: "ADDRESS:PORT"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      """
      Downloads added on the web page or over --listen may write only below this directory; may \
      be repeated (default: ~/Downloads).
      """, valueName: "DIR"))
  var root: [String] = []

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Let a public host redirect to this machine or a private network.")
  var privateRedirects: Bool?

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print the internal log too.")
  var verbose: Bool?
}

struct UICommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ui", abstract: "Shows the background queue as a web page.",
    discussion: """
      Prints the page's address, which works once, within 60 s, and opens it where there is a \
      desktop. The daemon is started if it is not running. An open page has a session, which \
      lasts until it was not used for 30 days.
      """)

  @Flag(inversion: .prefixedNo, help: "Open it in the browser of the desktop.")
  var open = true

  @Flag(help: "List the sessions of open pages instead.")
  var sessions = false

  @Option(
    help: ArgumentHelp("End this session instead, or all.", valueName: "SESSION|all"))
  var end: String?
}

struct DaemonCommand: ParsableCommand {
  enum Action: String, ExpressibleByArgument, CaseIterable { case start, stop, status }

  static let configuration = CommandConfiguration(
    commandName: "daemon", abstract: "Starts or stops the daemon, or says whether it runs.")

  @Argument(help: ArgumentHelp("start, stop or status.", valueName: "action"))
  var action: Action
}

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Shows the background queue, in its order.")

  @Option(help: ArgumentHelp("Only this group.", valueName: "NAME"), completion: .groups)
  var group: String?

  @Option(
    help: ArgumentHelp(
      "Maximum number of rows (default: 500; 0 = all; --json prints all).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 0...Int.max) })
  var limit: Int?

  @Flag(help: "Print one JSON object per line.")
  var json = false

  /// What shell completion asks for.
  enum Names: String, ExpressibleByArgument { case transfers, groups }

  @Option(help: .hidden)
  var names: Names?
}

struct ShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows everything about one transfer.")

  @Argument(
    help: ArgumentHelp(
      "Its id, a unique prefix of the id, or the name given with --id.", valueName: "ID"),
    completion: .transfers)
  var id: String

  @Flag(help: "Print JSON.")
  var json = false
}

struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Says why a transfer does not run, and what would let it continue.")

  @Argument(
    help: ArgumentHelp(
      "Its id, a unique prefix of the id, or the name given with --id.", valueName: "ID"),
    completion: .transfers)
  var id: String
}

struct SetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Changes a transfer.")

  @Argument(
    help: ArgumentHelp(
      "Its id, a unique prefix of the id, or the name given with --id.", valueName: "ID"),
    completion: .transfers)
  var id: String

  @Option(
    help: ArgumentHelp(
      "user-interactive, user-initiated, default, utility or background.", valueName: "PRIORITY"),
    completion: .list(TransferRequest.Priority.allCases.map(\.name)),
    transform: ArgumentValue.priority)
  var priority: TransferRequest.Priority?

  @Option(help: ArgumentHelp("Another address of the same file.", valueName: "URL"))
  var url: String?

  @Flag(
    help: "With --url: it is the same file although its name in the address is another one.")
  var sameResource = false

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "Bytes per second of this download, also while it runs; or none.", valueName: "RATE"),
    transform: ArgumentValue.rate)
  var rateLimit: Int64?

  @Option(
    help: ArgumentHelp(
      "Start at this time, as in 'haul add'; or now.", valueName: "TIME"))
  var at: String?
}

struct SuspendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suspend",
    abstract: "Lets no transfer start until 'haul unsuspend'; running ones continue.")
}

struct UnsuspendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unsuspend", abstract: "Ends 'haul suspend': transfers start again.")
}

struct WaitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Waits until transfers have ended or are paused.",
    discussion: """
      Exit status: 0 all completed; 1 at least one failed; 3 nothing failed, and at least one is \
      paused or blocked, or was cancelled or removed.
      """)
  @OptionGroup var transfers: SelectionOptions
}

struct WatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Shows transfers while they run, until they have ended or are paused.",
    discussion: """
      Without ids or a group, it shows all transfers. Ctrl-C ends the view and not the transfers. \
      The exit status is that of 'haul wait'.
      """)

  @Argument(
    help: ArgumentHelp(
      "Ids, unique prefixes of ids, or names given with --id.", valueName: "ID"),
    completion: .transfers)
  var ids: [String] = []

  @Option(help: ArgumentHelp("Only this group.", valueName: "NAME"), completion: .groups)
  var group: String?

  @Flag(help: "Print events as JSON, one object per line; a transfer's state first.")
  var json = false
}
