import HaulControl
public import HaulCore
public import HaulKit

/// The transfers of a group, in the foreground and in the background.
public struct ClientGroup: CommandReceiver {
  /// The name that they were added with.
  public let name: String
  fileprivate let foreground: TransferGroup
  fileprivate let control: ControlClient

  /// Carries out a command for each of them; it is stored when this returns.
  /// - Returns: what refused the command, and why; those already in that state are not included.
  /// - Throws: `io`, `disk-full`; `connect` when the daemon is not running.
  @discardableResult
  public func perform(_ command: TransferCommand) async throws(TransferError) -> CommandReport {
    let own = try await foreground.perform(command)
    let answer = try await control.perform(command, Selection(group: name))
    let refused = answer.refused.map { ($0.id, $0.reason) }
    return CommandReport(refused: own.refused.merging(refused) { $1 })
  }
}

extension TransferClient {
  /// The transfers that were added with this group name.
  public func group(_ name: String) -> ClientGroup {
    ClientGroup(name: name, foreground: manager.group(name), control: control)
  }
}

extension ControlClient {
  /// - Throws: as `CommandReceiver.perform`.
  func perform(
    _ command: TransferCommand, _ selection: Selection
  ) async throws(TransferError) -> CommandResponse {
    do {
      return try await perform(CommandBody(command, selection))
    } catch {
      throw TransferError(error)
    }
  }
}

extension CommandBody {
  /// The same command as text of the API.
  fileprivate init(_ command: TransferCommand, _ selection: Selection) {
    self.init(command.name, selection)
    switch command {
    case .pause, .resume, .requeue, .retry, .restart, .remove: break
    case .cancel(let keepsBytes): keepsPart = keepsBytes
    case .start(let isForced): force = isForced
    case .move(let position): to = Position(position)
    case .setPriority(let value): priority = value.name
    }
  }
}

extension TransferCommand {
  fileprivate var name: CommandBody.Name {
    switch self {
    case .pause: .pause
    case .resume: .resume
    case .requeue: .requeue
    case .cancel: .cancel
    case .retry: .retry
    case .restart: .restart
    case .remove: .remove
    case .start: .start
    case .move: .move
    case .setPriority: .prioritize
    }
  }
}

extension CommandBody.Position {
  fileprivate init(_ position: QueuePosition) {
    switch position {
    case .first: self.init(first: true)
    case .last: self.init(last: true)
    case .before(let id): self.init(before: "\(id)")
    case .after(let id): self.init(after: "\(id)")
    }
  }
}
