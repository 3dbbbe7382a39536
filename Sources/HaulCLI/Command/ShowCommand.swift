import ArgumentParser
import HaulControl

struct ShowCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows everything about one transfer.")

  @OptionGroup var transfer: TransferArgument

  @Flag(help: "Print JSON.")
  var json = false

  func plan(_ sources: CommandSources) -> any CommandPlan {
    ControlPlan { session in
      let transfer = try await session.client.transfer(transfer.id)
      return await OutputStream.show(
        json ? try JSONLines.line(of: transfer) : TransferText.details(transfer))
    }
  }
}

/// The transfer that a command is for.
struct TransferArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "Its id, a unique prefix of the id, or the name given with --id.", valueName: "ID"),
    completion: .transfers)
  var id: String
}
