import FoundationEssentials
import HaulControl
public import HaulCore
public import HaulKit

/// Transfers in the foreground, which a manager of this program runs, and in the background, which
/// the daemon of this user runs (`haul daemon start`).
///
/// A background transfer continues when this program ends. The next program that makes a client
/// finds it, and `backgroundEvents(after:)` reports what happened meanwhile. A foreground transfer
/// stops with its program; with a stored list (`HaulStore`) it resumes with the next one.
public final class TransferClient: Sendable {
  /// Runs the foreground transfers.
  public let manager: TransferManager
  let control: ControlClient

  /// A client of the daemon of this user; it need not run yet.
  /// - Parameters:
  ///   - manager: runs the foreground transfers.
  ///   - stateDirectory: the directory of the daemon's list and socket; nil for
  ///     `$XDG_STATE_HOME/haul`, or `~/.local/state/haul`.
  /// - Throws: `io` if the directory is not an absolute path, is too long for a socket, or unknown.
  public init(_ manager: TransferManager, stateDirectory: String? = nil) throws(TransferError) {
    self.manager = manager
    let location =
      if let stateDirectory {
        try ControlLocation(directory: stateDirectory)
      } else {
        try ControlLocation(environment: ProcessInfo.processInfo.environment)
      }
    control = ControlClient(location)
  }

  /// Closes the connections to the daemon and shuts the manager down. Background transfers
  /// continue.
  public func shutdown() async {
    await control.close()
    await manager.shutdown()
  }

  /// Adds a transfer where its `isBackground` says. It is stored when this returns.
  /// - Throws: as `TransferManager.add`; `not-yet-supported` for a background transfer to a stream
  ///   or of a closure; `connect` when the daemon is not running.
  @discardableResult
  public func add(
    _ request: TransferRequest, ifKnown: TransferRequest.IfKnown = .keep
  ) async throws(TransferError) -> ClientTransfer {
    try await add([request], ifKnown: ifKnown)[0]
  }

  /// Adds transfers where their `isBackground` says, in order: first those of the background, all
  /// or none, and then those of the foreground, all or none. A dependency must be on the same side.
  /// The daemon accepts 10,000 at once.
  /// - Parameter key: your name for this call. The same call again adds nothing, and returns the
  ///   same transfers.
  /// - Throws: as `add` of one.
  @discardableResult
  public func add(
    _ requests: [TransferRequest], ifKnown: TransferRequest.IfKnown = .keep, key: String? = nil
  ) async throws(TransferError) -> [ClientTransfer] {
    let background = requests.filter(\.isBackground)
    var added = try await addToDaemon(background, ifKnown, key)[...]
    var own = try await manager.add(
      requests.filter { !$0.isBackground }, ifKnown: ifKnown, key: key)[...]
    return requests.compactMap { request in
      request.isBackground ? added.popFirst() : own.popFirst().map(ClientTransfer.init)
    }
  }

  private func addToDaemon(
    _ requests: [TransferRequest], _ ifKnown: TransferRequest.IfKnown, _ key: String?
  ) async throws(TransferError) -> [ClientTransfer] {
    guard !requests.isEmpty else { return [] }
    var new: [NewTransfer] = []
    for request in try WorkingDirectory.resolve(requests, in: WorkingDirectory.path) {
      new.append(try NewTransfer(request))
    }
    do {
      // The connection may break after they were added: the same key adds nothing twice.
      let answer = try await control.add(
        AddBody(transfers: new, ifKnown: ifKnown),
        key: key ?? "\(UInt64.random(in: .min ... .max))")
      return zip(answer.ids, requests).map { id, request in
        ClientTransfer(id, request.identifier, request.group, control)
      }
    } catch {
      throw TransferError(error)
    }
  }

  /// The transfers of both sides: the foreground first, each side in the order of its list.
  /// - Parameter group: nil for all; the daemon's list may have transfers of other programs.
  /// - Throws: `io`; `connect` when the daemon is not running.
  public func transfers(group: String? = nil) async throws(TransferError) -> [ClientTransfer] {
    let own = try await manager.transfers(of: group.map { .group($0) } ?? .all)
    return own.map(ClientTransfer.init) + (try await backgroundTransfers(group: group))
  }

  /// The transfer with that identifier; nil when neither side has it.
  /// - Throws: as `transfers(group:)`.
  public func transfer(identifier: String) async throws(TransferError) -> ClientTransfer? {
    if let own = try await manager.transfer(identifier: identifier) { return ClientTransfer(own) }
    do {
      let found = try await control.transfer(identifier)
      return found.identifier == identifier ? ClientTransfer(found, control) : nil
    } catch .refused(let problem) where problem.status == 404 {
      return nil
    } catch {
      throw TransferError(error)
    }
  }

  private func backgroundTransfers(
    group: String?
  ) async throws(TransferError) -> [ClientTransfer] {
    var (transfers, last): ([ClientTransfer], TransferID?) = ([], nil)
    repeat {
      do {
        let page = try await control.transfers(after: last, group: group)
        transfers += page.transfers.map { ClientTransfer($0, control) }
        last = page.next
      } catch {
        throw TransferError(error)
      }
    } while last != nil
    return transfers
  }
}

extension TransferError {
  /// The daemon's refusal, or why it could not be asked.
  init(_ failure: ControlClient.Failure) {
    switch failure {
    case .notRunning:
      self.init(
        .connect, "the daemon is not running", advice: "start it with: haul daemon start",
        isRetryable: true)
    case .refused(let problem):
      self.init(problem.code.flatMap(Code.init) ?? .internal, problem.detail)
    case .broken(let why): self.init(.connectionLost, why, isRetryable: true)
    }
  }
}
