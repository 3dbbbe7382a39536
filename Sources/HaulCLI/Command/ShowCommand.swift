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
      let details = try await session.client.details(of: transfer.id)
      return await OutputStream.show(
        json
          ? try JSONLines.line(of: Shown(transfer: transfer, request: details.request))
          : TransferText.details(transfer, details))
    }
  }

  /// The object of `list --json`, and what was asked for.
  private struct Shown: Encodable {
    let transfer: TransferDocument
    let request: DetailsDocument.Request?

    private enum CodingKeys: String, CodingKey { case request }

    func encode(to encoder: any Encoder) throws {
      try transfer.encode(to: encoder)
      var object = encoder.container(keyedBy: CodingKeys.self)
      try object.encode(request, forKey: .request)
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
