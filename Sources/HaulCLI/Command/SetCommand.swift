import ArgumentParser
import HaulControl
import HaulCore

struct SetCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Changes a transfer.")

  @OptionGroup var transfer: TransferArgument

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

  @Option(help: ArgumentHelp("Another group; an empty name for none.", valueName: "NAME"))
  var group: String?

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let change = try change(at: sources.wallSeconds)
    return ControlPlan { session in
      let (id, client) = (transfer.id, session.client)
      let old = change.url == nil ? nil : try await client.transfer(id).origin
      let new = try await client.change(id, change).origin
      if let old, new != old {
        await OutputStream.warn(
          "\(old) was another server: its header fields, trusted hosts and --insecure no longer "
            + "apply")
      }
      return .completed
    }
  }

  private func change(at wallSeconds: Double) throws(UsageError) -> ChangeBody {
    let startsAt = try at.map { (text) throws(UsageError) in
      text == "now" ? 0 : try LocalTime.seconds(text, at: wallSeconds)
    }
    let change = ChangeBody(
      priority: priority?.name, url: try url.map(AddressArgument.url)?.text,
      rateLimit: rateLimit, startsAt: startsAt, keepsName: sameResource ? true : nil, group: group)
    guard url != nil || !sameResource else { throw UsageError("--same-resource is for --url") }
    guard change != ChangeBody() else {
      throw UsageError("give --priority, --url, --limit-rate, --at or --group")
    }
    return change
  }
}

extension TransferDocument {
  fileprivate var origin: ResourceURL.Origin? { url.flatMap { try? ResourceURL($0) }?.origin }
}
