import ArgumentParser
package import HaulControl
import HaulCore

/// What a command asks of the daemon.
package enum ControlPlan: Hashable, Sendable {
  case add(AddPlan)
  /// A limit of 0 is none.
  case list(group: String?, limit: Int, json: Bool)
  /// For shell completion.
  case names(groups: Bool)
  case show(String, json: Bool)
  case explain(String)
  case perform(CommandBody)
  case change(String, ChangeBody)
  case setSuspended(Bool)
  case wait(Selection)
  /// Neither names nor a group: all transfers.
  case watch([String], group: String?, json: Bool)
  case start, stop, status
  /// The web page.
  case page(opens: Bool)
  case sessions
  /// `all`, or the beginning of an id.
  case endSession(String)
}

extension ControlPlan {
  /// Whether it shows something until it is interrupted.
  var isInteractive: Bool { if case .watch = self { true } else { false } }

  /// Whether it waits for what the daemon does.
  var isWait: Bool {
    switch self {
    case .wait, .watch: true
    default: false
    }
  }

  private static let defaultRows = 500

  /// Nil for another command.
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  static func of(
    _ command: any ParsableCommand, at wallSeconds: Double
  ) throws(UsageError) -> ControlPlan? {
    switch command {
    case let list as ListCommand where list.names != nil:
      return .names(groups: list.names == .groups)
    case let list as ListCommand:
      return .list(
        group: list.group, limit: list.limit ?? (list.json ? 0 : Self.defaultRows), json: list.json)
    case let show as ShowCommand: return .show(show.id, json: show.json)
    case let explain as ExplainCommand: return .explain(explain.id)
    case let queue as any QueueCommand: return .perform(try queue.body())
    case let remove as RemoveCommand: return .perform(try remove.body())
    case let cancel as CancelCommand: return .perform(try cancel.body())
    case let start as StartCommand: return .perform(try start.body())
    case let move as MoveCommand: return .perform(try move.body())
    case let set as SetCommand: return .change(set.id, try ChangeBody(set, at: wallSeconds))
    case is SuspendCommand: return .setSuspended(true)
    case is UnsuspendCommand: return .setSuspended(false)
    case let wait as WaitCommand: return .wait(try wait.transfers.selection())
    case let watch as WatchCommand:
      if !watch.ids.isEmpty, watch.group != nil { throw UsageError("give either ids or --group") }
      return .watch(watch.ids, group: watch.group, json: watch.json)
    case let page as UICommand:
      if let name = page.end {
        guard !page.sessions, !name.isEmpty else {
          throw UsageError("give --sessions, or --end with a session or all")
        }
        return .endSession(name)
      }
      return page.sessions ? .sessions : .page(opens: page.open)
    case let daemon as DaemonCommand:
      switch daemon.action {
      case .start: return .start
      case .stop: return .stop
      case .status: return .status
      }
    default: return nil
    }
  }
}

extension ChangeBody {
  fileprivate init(_ command: SetCommand, at wallSeconds: Double) throws(UsageError) {
    let startsAt = try command.at.map { (text) throws(UsageError) in
      text == "now" ? 0 : try LocalTime.seconds(text, at: wallSeconds)
    }
    self.init(
      priority: command.priority?.name, url: try command.url.map(AddressArgument.url)?.text,
      rateLimit: command.rateLimit, startsAt: startsAt,
      keepsName: command.sameResource ? true : nil)
    guard url != nil || keepsName == nil else { throw UsageError("--same-resource is for --url") }
    guard self != ChangeBody() else {
      throw UsageError("give --priority, --url, --limit-rate or --at")
    }
  }
}
