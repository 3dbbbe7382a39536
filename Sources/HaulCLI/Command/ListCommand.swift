import ArgumentParser
import HaulControl
import HaulCore

struct ListCommand: Command {
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

  func plan(_ sources: CommandSources) -> any CommandPlan {
    ControlPlan { try await names == nil ? showList($0) : showNames($0.client) }
  }

  private static let pageSize = 1000
  private static let defaultRows = 500

  private func showList(_ session: ControlSession) async throws -> ExitStatus {
    let given = limit ?? (json ? 0 : Self.defaultRows)
    let limit = given > 0 ? given : .max
    var transfers: [TransferDocument] = []
    var last: TransferID?
    repeat {
      let room = min(limit - transfers.count, Self.pageSize)
      let page = try await session.client.transfers(after: last, group: group, atMost: room)
      transfers += page.transfers
      last = page.next
    } while last != nil && transfers.count < limit
    if json { return await OutputStream.show(try transfers.map(JSONLines.line).joined()) }
    guard !transfers.isEmpty else {
      let why = group.map { "no transfer is in the group \(Messages.shown($0))" }
      return await OutputStream.show("\(why ?? "the list is empty")\n")
    }
    let status = await OutputStream.show(session.context.fitted(ListTable(transfers).table))
    if last != nil { await OutputStream.warn("there are more; to list all: haul list --limit 0") }
    return status
  }

  /// Prints ids and names given with --id, or group names, one per line, for shell completion.
  private func showNames(_ client: ControlClient) async throws -> ExitStatus {
    let found = try await client.transfers(atMost: Self.pageSize).transfers.flatMap { transfer in
      names == .groups ? [transfer.group] : [transfer.id.description, transfer.identifier]
    }.compactMap(\.self)
    return await OutputStream.show(NameCompletion.lines(found))
  }
}
