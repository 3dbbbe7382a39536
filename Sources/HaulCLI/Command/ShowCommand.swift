import ArgumentParser
import HaulControl

struct ShowCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows everything about one transfer.")

  @OptionGroup var transfer: TransferArgument

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var state: StateDirectoryOption

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let name = transfer.id
    return ControlPlan(directory: try state.path()) { session in
      let (transfer, details) = try await session.reading {
        let transfer = try await session.client.transfer(name)
        return (transfer, try await session.client.details(of: transfer.id))
      } stored: { list in
        try await list.details(at: session.location, of: name)
          .map { try only($0) }
      }
      return await OutputStream.show(
        json
          ? try JSONLines.line(of: Shown(transfer: transfer, details: details))
          : TransferText.details(transfer, details))
    }
  }

  private func only(
    _ found: [(transfer: TransferDocument, details: DetailsDocument)]
  ) throws(ControlClient.Failure) -> (TransferDocument, DetailsDocument) {
    guard let first = found.first else {
      throw .refused(.notFound("there is no transfer '\(transfer.id)' in the list"))
    }
    guard found.count == 1 else {
      throw .refused(
        Problem(
          409, "Conflict",
          "\(found.count) ids begin with '\(transfer.id)'; give more of its characters"))
    }
    return first
  }

  /// The object of `list --json`, when it began, and what was asked for.
  private struct Shown: Encodable {
    let transfer: TransferDocument
    let details: DetailsDocument

    private enum CodingKeys: String, CodingKey { case started, request }

    func encode(to encoder: any Encoder) throws {
      try transfer.encode(to: encoder)
      var object = encoder.container(keyedBy: CodingKeys.self)
      try object.encode(details.started, forKey: .started)
      try object.encode(details.request, forKey: .request)
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
