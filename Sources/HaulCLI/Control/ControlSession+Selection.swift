import HaulControl
import HaulCore

/// Calls for several transfers.
extension ControlSession {
  /// Calls `body` for a selection. If a name in it is not that of one transfer, a line says so, and
  /// `body` is called for the others.
  /// - Returns: its answer, nil if none is left; and whether each name was known.
  func forKnown<Answer>(
    _ selection: Selection, _ body: (Selection) async throws(ControlClient.Failure) -> Answer
  ) async throws(ControlClient.Failure) -> (answer: Answer?, areAllKnown: Bool) {
    do throws(ControlClient.Failure) {
      return (try await body(selection), true)
    } catch {
      guard error.unknownName != nil, let names = selection.ids, names.count > 1 else {
        throw error
      }
      let known = try await known(names)
      guard known.count < names.count else { throw error }
      guard !known.isEmpty else { return (nil, false) }
      return (try await body(Selection(ids: known.map(\.description))), false)
    }
  }

  /// The transfers with these names; a line for each other name says what is wrong with it.
  func known(_ names: [String]) async throws(ControlClient.Failure) -> [TransferID] {
    var known: [TransferID] = []
    for name in names {
      do throws(ControlClient.Failure) {
        known.append(try await client.transfer(name).id)
      } catch {
        guard let problem = error.unknownName else { throw error }
        await OutputStream.warn(problem.detail)
      }
    }
    return known
  }

  /// Nil if the list has no such transfer.
  func transfer(_ id: TransferID) async throws(ControlClient.Failure) -> TransferDocument? {
    do throws(ControlClient.Failure) {
      return try await client.transfer("\(id)")
    } catch {
      guard error.unknownName != nil else { throw error }
      return nil
    }
  }

  /// One sentence: why it is in its state, and what would let it continue.
  func explanation(_ transfer: TransferDocument, closedLimit: String? = nil) async -> String {
    let wait = transfer.waiting
    return TransferText.explanation(
      transfer, isRemoved: await isRemoved(wait), isPaused: await isPaused(wait),
      closedLimit: closedLimit)
  }

  /// Whether the dependency that blocks it is no longer in the list.
  private func isRemoved(_ wait: TransferDocument.Wait?) async -> Bool {
    guard wait?.isBlocked == true, let dependency = wait?.transfer else { return false }
    do throws(ControlClient.Failure) {
      return try await transfer(dependency) == nil
    } catch {
      return false
    }
  }

  /// Whether it waits for a transfer that is paused.
  private func isPaused(_ wait: TransferDocument.Wait?) async -> Bool {
    guard let dependency = wait?.transfer else { return false }
    return (try? await client.transfer("\(dependency)"))?.state == .paused
  }
}

extension ControlClient.Failure {
  /// What is wrong with a name: no transfer has it, or several ids begin with it.
  fileprivate var unknownName: Problem? {
    guard case .refused(let problem) = self, [404, 409].contains(problem.status),
      problem.code == nil
    else { return nil }
    return problem
  }
}
