import ArgumentParser
import HaulControl
import HaulCore

struct SetCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Changes transfers.",
    discussion: """
      Header fields and credentials replace those that have expired, for one server; a download \
      that runs sends them from its next request on, an upload from its next run. --url and --at \
      stop what runs, and let it continue. 'haul retry' takes the same options.
      """)

  @Argument(
    help: ArgumentHelp(
      "Ids, unique prefixes of ids, or names given with --id.", valueName: "ID"),
    completion: .transfers)
  var ids: [String] = []

  @Option(
    help: ArgumentHelp(
      "Without ids: all transfers of this group. With ids: another group; an empty name for none.",
      valueName: "NAME"), completion: .groups)
  var group: String?

  @Flag(help: "All transfers.")
  var all = false

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

  @Option(
    help: ArgumentHelp(
      "Run again at these times, as in 'haul add', also while it runs; or none.",
      valueName: "TIMES"))
  var every: String?

  @OptionGroup(title: "Credentials") var access: AccessOptions

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let selection = try selection()
    let access = try AccessChange(access, sources)
    let change = try change(at: sources.wallSeconds, hasAccess: access != nil)
    guard change.url == nil || selection.ids?.count == 1 else {
      throw UsageError("--url is another address of one transfer: give its id")
    }
    return ControlPlan { session in
      var documents = try await session.documents(of: selection)
      if documents.isEmpty, let group = selection.group { return await session.isEmpty(group) }
      if let chosen = try access?.chosen(documents), change.url == nil { documents = chosen }
      guard documents.count == 1, let document = documents.first else {
        return try await session.change(documents, change, access)
      }
      var (access, change) = (access, change)
      try access?.add(to: &change, for: change.url ?? document.url ?? "")
      try await apply(change, to: document, session)
      return .completed
    }
  }

  private func selection() throws(UsageError) -> Selection {
    switch (ids.isEmpty, group, all) {
    case (false, _, false): Selection(ids: ids)
    case (true, let group?, false): Selection(group: group)
    case (true, nil, true): Selection(all: true)
    case (true, nil, false): throw UsageError("give ids, --group NAME or --all")
    default: throw UsageError("--all is given without ids and without --group")
    }
  }

  private func apply(
    _ change: ChangeBody, to document: TransferDocument, _ session: ControlSession
  ) async throws(ControlClient.Failure) {
    let new = try await session.client.change("\(document.id)", change).origin
    if change.url != nil, let old = document.origin, new != old {
      await OutputStream.warn(
        "\(old) was another server: its header fields, trusted hosts and --insecure no longer "
          + "apply")
    }
  }

  private func change(
    at wallSeconds: Double, hasAccess: Bool
  ) throws(UsageError) -> ChangeBody {
    let startsAt = try at.map { (text) throws(UsageError) in
      text == "now" ? 0 : try LocalTime.seconds(text, at: wallSeconds)
    }
    let change = ChangeBody(
      priority: priority?.name, url: try url.map(AddressArgument.url)?.text,
      rateLimit: rateLimit, startsAt: startsAt, keepsName: sameResource ? true : nil,
      group: ids.isEmpty ? nil : group, every: try words())
    guard url != nil || !sameResource else { throw UsageError("--same-resource is for --url") }
    guard change != ChangeBody() || hasAccess else {
      throw UsageError(
        "give --priority, --url, --limit-rate, --at, --every, --group, -H or credentials")
    }
    return change
  }

  /// What the daemon reads of `--every`.
  private func words() throws(UsageError) -> String? {
    guard let every, every != "none" else { return every.map { _ in "" } }
    do {
      return try ArgumentValue.repetition(every).text
    } catch {
      throw UsageError("--every \(every): \(error.message), or: none")
    }
  }
}
