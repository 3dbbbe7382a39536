import HaulControl
import HaulCore
public import HaulKit

/// Commands for all transfers of a group, in the foreground and in the background.
extension TransferClient {
  /// Pauses them.
  /// - Returns: what refused the command, and why; those already paused are not included.
  /// - Throws: `io`, `disk-full`; `connect` when the daemon is not running.
  @discardableResult
  public func pause(group: String) async throws(TransferError) -> CommandReport {
    try await perform(.pause, group, try await manager.group(group).pause())
  }

  /// Resumes those that are paused.
  /// - Returns: as `pause(group:)`.
  /// - Throws: as `pause(group:)`.
  @discardableResult
  public func resume(group: String) async throws(TransferError) -> CommandReport {
    try await perform(.resume, group, try await manager.group(group).resume())
  }

  /// Cancels them and deletes their part files.
  /// - Returns: as `pause(group:)`.
  /// - Throws: as `pause(group:)`.
  @discardableResult
  public func cancel(group: String) async throws(TransferError) -> CommandReport {
    try await perform(.cancel, group, try await manager.group(group).cancel())
  }

  /// Runs those that have ended again, from their bytes.
  /// - Returns: as `pause(group:)`.
  /// - Throws: as `pause(group:)`.
  @discardableResult
  public func retry(group: String) async throws(TransferError) -> CommandReport {
    try await perform(.retry, group, try await manager.group(group).retry())
  }

  /// Runs all again, from byte 0.
  /// - Returns: as `pause(group:)`.
  /// - Throws: as `pause(group:)`.
  @discardableResult
  public func restart(group: String) async throws(TransferError) -> CommandReport {
    try await perform(.restart, group, try await manager.group(group).restart())
  }

  /// Takes all off their lists; finished files stay.
  /// - Returns: as `pause(group:)`.
  /// - Throws: as `pause(group:)`.
  @discardableResult
  public func remove(group: String) async throws(TransferError) -> CommandReport {
    try await perform(.remove, group, try await manager.group(group).remove())
  }

  private func perform(
    _ command: CommandBody.Name, _ group: String, _ own: CommandReport
  ) async throws(TransferError) -> CommandReport {
    do {
      let answer = try await control.perform(CommandBody(command, Selection(group: group)))
      let refused = answer.refused.map { ($0.id, $0.reason) }
      return CommandReport(refused: own.refused.merging(refused) { $1 })
    } catch {
      throw TransferError(error)
    }
  }
}
