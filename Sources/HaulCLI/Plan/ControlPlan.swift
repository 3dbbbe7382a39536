import ArgumentParser
package import HaulControl
import HaulCore

/// What a command asks of the daemon.
package enum ControlPlan: Hashable, Sendable {
  case add(AddPlan)
  case list(group: String?, json: Bool)
  case show(String, json: Bool)
  case explain(String)
  case perform(CommandBody)
  case change(String, ChangeBody)
  case setSuspended(Bool)
  case wait(Selection)
  case start, stop, status
}

extension ControlPlan {
  /// Nil for another command.
  static func of(_ command: any ParsableCommand) throws(UsageError) -> ControlPlan? {
    switch command {
    case let list as ListCommand: .list(group: list.group, json: list.json)
    case let show as ShowCommand: .show(show.id, json: show.json)
    case let explain as ExplainCommand: .explain(explain.id)
    case let queue as any QueueCommand: .perform(try queue.body())
    case let cancel as CancelCommand: .perform(try cancel.body())
    case let start as StartCommand: .perform(try start.body())
    case let move as MoveCommand: .perform(try move.body())
    case let set as SetCommand: .change(set.id, try ChangeBody(set))
    case is SuspendCommand: .setSuspended(true)
    case is UnsuspendCommand: .setSuspended(false)
    case let wait as WaitCommand: .wait(try wait.transfers.selection())
    case let daemon as DaemonCommand:
      switch daemon.action {
      case .start: .start
      case .stop: .stop
      case .status: .status
      }
    default: nil
    }
  }
}

extension ChangeBody {
  fileprivate init(_ command: SetCommand) throws(UsageError) {
    guard command.priority != nil || command.url != nil else {
      throw UsageError("give --priority or --url")
    }
    self.init(
      priority: command.priority?.name, url: try command.url.map(AddressArgument.url)?.text)
  }
}
