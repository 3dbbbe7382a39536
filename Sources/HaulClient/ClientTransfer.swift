import HaulControl
public import HaulCore
public import HaulKit

/// A handle of one transfer of a `TransferClient`, in the foreground or in the background.
public struct ClientTransfer: Sendable, Identifiable {
  private enum Side: Sendable {
    case foreground(Transfer)
    case background(ControlClient)
  }

  /// Opaque, and unique in the list of its side.
  public let id: TransferID
  /// The caller's name for it.
  public let identifier: String?
  /// The group that it belongs to.
  public let group: String?
  private let side: Side

  init(_ transfer: Transfer) {
    (id, identifier, group) = (transfer.id, transfer.identifier, transfer.group)
    side = .foreground(transfer)
  }

  init(_ id: TransferID, _ identifier: String?, _ group: String?, _ control: ControlClient) {
    (self.id, self.identifier, self.group) = (id, identifier, group)
    side = .background(control)
  }

  init(_ document: TransferDocument, _ control: ControlClient) {
    self.init(document.id, document.identifier, document.group, control)
  }

  /// Whether the daemon runs it.
  public var isBackground: Bool { if case .background = side { true } else { false } }

  /// Its present state; nil when it is no longer in its list.
  /// - Throws: `connect` when the daemon is not running.
  public var state: TransferState? {
    get async throws(TransferError) {
      switch side {
      case .foreground(let transfer): await transfer.summary?.state
      case .background(let control): try await document(control)?.state
      }
    }
  }

  /// Its bytes so far, and its length; nil until they are known.
  /// - Throws: `connect` when the daemon is not running.
  public var progress: TransferProgress? {
    get async throws(TransferError) {
      switch side {
      case .foreground(let transfer): return await transfer.snapshot?.progress
      case .background(let control):
        guard let document = try await document(control), document.bytes > 0 else { return nil }
        return TransferProgress(
          bytes: document.bytes, total: document.total, rate: document.rate, connections: 0)
      }
    }
  }

  /// Waits for its end, also through pauses. A cancelled task stops waiting; the transfer
  /// continues.
  /// - Throws: as `Transfer.result`; `interrupted` also when the daemon was stopped; `connect` when
  ///   it is not running.
  /// - Complexity: O(transfers of the daemon) while it has not ended.
  public var result: TransferResult {
    get async throws(TransferError) {
      switch side {
      case .foreground(let transfer): try await transfer.result
      case .background(let control): try await result(control)
      }
    }
  }

  private func document(_ control: ControlClient) async throws(TransferError) -> TransferDocument? {
    do {
      return try await control.transfer("\(id)")
    } catch .refused(let problem) where problem.status == 404 {
      return nil
    } catch {
      throw TransferError(error)
    }
  }

  private func result(_ control: ControlClient) async throws(TransferError) -> TransferResult {
    guard let document = try await document(control) else { throw Self.removed }
    if let result = try document.ownResult { return result }
    do {
      for try await message in try await control.events() {
        switch message {
        case .transfer(let document) where document.id == id:
          if let result = try document.ownResult { return result }
        case .event(let event) where event.id == id && event.type == .removed:
          throw Self.removed
        default: break
        }
      }
    } catch let failure as ControlClient.Failure {
      throw TransferError(failure)
    } catch let error as TransferError {
      throw error
    } catch {
      throw TransferError(.internal, "\(error)")
    }
    throw TransferError(
      .interrupted, "the daemon was stopped", advice: "it resumes when it runs again")
  }

  private static let removed = TransferError(
    .interrupted, "the transfer was removed from the list")
}

extension TransferDocument {
  /// - Throws: why it failed; `dependency-failed` if it waits for a transfer that will not
  ///   complete.
  fileprivate var ownResult: TransferResult? {
    get throws(TransferError) {
      if waiting?.isBlocked == true {
        throw TransferError(.dependencyFailed, waiting?.message ?? "a dependency failed")
      }
      guard state.isEnded, let result = result?.result else { return nil }
      if let error = result.error { throw error }
      guard result.state != .cancelled else {
        throw TransferError(.cancelled, "the transfer was cancelled")
      }
      return result
    }
  }
}

extension ClientTransfer: CommandReceiver {
  /// Carries out a command; it is stored when this returns.
  /// - Throws: `refused`; `io`, `disk-full`; `connect` when the daemon is not running.
  public func perform(_ command: TransferCommand) async throws(TransferError) {
    switch side {
    case .foreground(let transfer): try await transfer.perform(command)
    case .background(let control):
      let answer = try await control.perform(command, Selection(ids: ["\(id)"]))
      if let refusal = answer.refused.first { throw TransferError(refusal.reason) }
    }
  }
}
