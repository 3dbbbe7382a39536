import ArgumentParser
import HaulControl
import HaulCore

struct ListCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Shows the background queue, in its order.",
    discussion: """
      If there are more than 500 transfers, the newest come first. When the daemon does not run, \
      this reads the list that it has left.
      """)

  @Option(
    help: ArgumentHelp("Only these states, with commas between them.", valueName: "STATE,..."),
    completion: .list(TransferState.allCases.map(\.rawValue)), transform: ArgumentValue.states)
  var state: Set<TransferState> = []

  @Option(help: ArgumentHelp("Only this group.", valueName: "NAME"), completion: .groups)
  var group: String?

  @Flag(help: "One row for each group: how many are in which state, bytes, and what all wait for.")
  var groups = false

  @Option(
    help: ArgumentHelp("Only this host; without a port, of every port.", valueName: "HOST"))
  var host: String?

  @Option(
    help: ArgumentHelp(
      "Sort by added, ended (the newest first), size, rate (the largest first), name or state.",
      valueName: "KEY"),
    completion: .list(ListOrder.allCases.map(\.rawValue)), transform: ArgumentValue.choice)
  var sort: ListOrder?

  @Option(
    help: ArgumentHelp("The last N of the list, the newest first.", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 1...Int.max) })
  var last: Int?

  @Option(
    help: ArgumentHelp(
      "Maximum number of rows (default: 500; 0 = all; --json prints all).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 0...Int.max) })
  var limit: Int?

  @Flag(help: "Print one JSON object per line.")
  var json = false

  @OptionGroup var directory: StateDirectoryOption

  /// What shell completion asks for.
  enum Names: String, ExpressibleByArgument { case transfers, groups }

  @Option(help: .hidden)
  var names: Names?

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard limit == nil || last == nil else {
      throw UsageError("--limit and --last contradict each other")
    }
    guard !groups || limit == nil && last == nil && sort == nil else {
      throw UsageError("--groups shows all groups by name: leave out --limit, --last and --sort")
    }
    return ControlPlan(directory: try directory.path()) {
      if groups { return try await showGroups($0) }
      return try await names == nil ? showList($0) : showNames($0.client)
    }
  }

  private static let pageSize = 1000
  private static let defaultRows = 500

  private var filter: TransferFilter {
    var filter = TransferFilter()
    (filter.states, filter.group, filter.host) = (state, group, host)
    return filter
  }

  private func showList(_ session: ControlSession) async throws -> ExitStatus {
    let (transfers, hasMore) = try await rows(session)
    if json { return await OutputStream.show(try transfers.map(JSONLines.line).joined()) }
    guard !transfers.isEmpty else { return await OutputStream.show("\(emptiness)\n") }
    let status = await OutputStream.show(session.context.fitted(ListTable(transfers).table))
    if hasMore {
      let order = isFromEnd && sort == nil ? ", in the order of the list" : ""
      await OutputStream.warn("there are more; to list all\(order): haul list --limit 0")
    }
    return status
  }

  private func showGroups(_ session: ControlSession) async throws -> ExitStatus {
    let rows = GroupRow.rows(try await fetch(session, atMost: .max))
    if json { return await OutputStream.show(try rows.map { try JSONLines.line(of: $0) }.joined()) }
    guard !rows.isEmpty else {
      return await OutputStream.show(
        filter.isEmpty ? "no transfer has a group\n" : "\(emptiness)\n")
    }
    return await OutputStream.show(session.context.fitted(GroupTable(rows).table))
  }

  /// Whether it begins with the newest, if they are not all.
  private var isFromEnd: Bool { limit == nil && !json || last != nil }

  /// The rows, and whether there are more that the user did not leave out.
  private func rows(
    _ session: ControlSession
  ) async throws -> (transfers: [TransferDocument], hasMore: Bool) {
    let limit = last ?? limit ?? (json ? 0 : Self.defaultRows)
    let most = limit > 0 ? limit : .max
    // Those that are first in an order may be anywhere in the list.
    let isWhole = sort != nil && last == nil
    var found = try await fetch(session, atMost: isWhole || most == .max ? .max : most + 1)
    if let sort { sort.sort(&found) }
    let hasMore = found.count > most
    if hasMore { found.removeLast(found.count - most) }
    // All of them are there: the order of the list is what its user knows.
    if isFromEnd, last == nil, sort == nil, !hasMore { found.reverse() }
    return (found, hasMore && last == nil)
  }

  private func fetch(
    _ session: ControlSession, atMost limit: Int
  ) async throws -> [TransferDocument] {
    try await session.reading {
      var (transfers, last): ([TransferDocument], TransferID?) = ([], nil)
      repeat {
        let room = min(limit - transfers.count, Self.pageSize)
        let page = try await session.client.transfers(
          filter, after: last, fromEnd: isFromEnd, atMost: room)
        transfers += page.transfers
        last = page.next
      } while last != nil && transfers.count < limit
      return transfers
    } stored: { list in
      try await list.transfers(
        at: session.location, filter, fromEnd: isFromEnd, atMost: limit)
    }
  }

  private var emptiness: String {
    guard filter.isEmpty else {
      guard let group, state.isEmpty, host == nil else { return "no transfer is like that" }
      return "no transfer is in the group \(Messages.shown(group))"
    }
    return "the list is empty"
  }

  /// Prints ids and names given with --id, or group names, one per line, for shell completion.
  private func showNames(_ client: ControlClient) async throws -> ExitStatus {
    let found = try await client.transfers(atMost: Self.pageSize).transfers.flatMap { transfer in
      names == .groups ? [transfer.group] : [transfer.id.description, transfer.identifier]
    }.compactMap(\.self)
    return await OutputStream.show(NameCompletion.lines(found))
  }
}
