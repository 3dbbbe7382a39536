import ArgumentParser
import HaulControl
import HaulCore

struct ExplainCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Says why a transfer does not run, and what would let it continue.",
    discussion: "Of a group, or of all, those that are completed without a warning have no line.")

  @OptionGroup var transfers: SelectionOptions

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let selection = try transfers.selection()
    return ControlPlan { session in
      let documents = try await session.documents(of: selection)
      if documents.isEmpty, let group = selection.group { return await session.isEmpty(group) }
      if documents.isEmpty { return await OutputStream.show("the list is empty\n") }
      let isOne = selection.ids?.count == 1
      let shown = documents.filter { selection.ids != nil || $0.isWorthExplaining }
      var (text, limits) = ("", LimitsDocument?.none)
      var reasons = EqualReasons()
      for transfer in shown {
        guard reasons.note(transfer) || selection.ids != nil else { continue }
        if transfer.waitsForLimit, limits == nil { limits = try await session.client.limits() }
        let closed = transfer.waitsForLimit ? limits?.closed : nil
        let line = await session.explanation(transfer, closedLimit: closed)
        text += isOne ? line : "\(transfer.id): \(line)"
      }
      if selection.ids == nil { text += reasons.lines.map { "\($0)\n" }.joined() }
      return await OutputStream.show(shown.isEmpty ? "all are completed\n" : text)
    }
  }
}

extension TransferDocument {
  /// False if it is completed, and nothing seems wrong with its file.
  fileprivate var isWorthExplaining: Bool {
    state != .completed || result?.result.warning != nil
  }

  fileprivate var waitsForLimit: Bool {
    waiting.map { $0.code == "slot" || $0.code == "host-limit" } ?? false
  }
}

extension LimitsDocument {
  /// A limit that lets nothing start.
  fileprivate var closed: String? {
    [
      ("active", active), ("connections", connections),
      ("connections_per_host", connectionsPerHost),
    ]
    .first { $0.1 == 0 }?.0
  }
}
