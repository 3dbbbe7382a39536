import ArgumentParser
import HaulControl
import HaulCore

struct ExplainCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Says why a transfer does not run, and what would let it continue.")

  @OptionGroup var transfer: TransferArgument

  func plan(_ sources: CommandSources) -> any CommandPlan {
    ControlPlan { session in
      let client = session.client
      let transfer = try await client.transfer(transfer.id)
      return await OutputStream.show(
        await session.explanation(
          transfer, closedLimit: try await closedLimit(transfer.waiting, client)))
    }
  }

  /// The limit that lets nothing start, if it waits for one.
  private func closedLimit(
    _ wait: TransferDocument.Wait?, _ client: ControlClient
  ) async throws(ControlClient.Failure) -> String? {
    guard let code = wait?.code, code == "slot" || code == "host-limit" else { return nil }
    let limits = try await client.limits()
    let closing = [
      ("active", limits.active), ("connections", limits.connections),
      ("connections_per_host", limits.connectionsPerHost),
    ]
    return closing.first { $0.1 == 0 }?.0
  }
}
