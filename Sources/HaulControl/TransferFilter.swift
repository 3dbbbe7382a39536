package import HaulCore

/// Which transfers a list shows.
package struct TransferFilter: Hashable, Sendable {
  /// Empty for every state.
  package var states: Set<TransferState> = []
  package var group: String?
  /// A host with its port, or without for every port.
  package var host: String?

  package init() {}

  package var isEmpty: Bool { self == TransferFilter() }

  package func takes(_ transfer: TransferSummary) -> Bool {
    (states.isEmpty || states.contains(transfer.state))
      && (group == nil || transfer.group == group) && isOfHost(transfer.host)
  }

  private func isOfHost(_ authority: String?) -> Bool {
    guard let host else { return true }
    guard let authority else { return false }
    let (wanted, found) = (host.lowercased(), authority.lowercased())
    guard found.hasBytePrefix(wanted) else { return false }
    let rest = found.utf8.dropFirst(wanted.utf8.count)
    // In `[::1]`, a colon is no end of a host.
    return rest.isEmpty
      || rest.first == 0x3A && rest.dropFirst().allSatisfy { $0 != 0x3A && $0 != 0x5D }
  }
}

/// The list that a daemon has left, read without it.
package protocol StoredListReader: Sendable {
  /// Nil if no daemon has left one.
  /// - Parameter fromEnd: from the end of the list.
  func transfers(
    at location: ControlLocation, _ filter: TransferFilter, fromEnd: Bool, atMost count: Int
  ) async throws(TransferError) -> [TransferDocument]?

  /// Those with this id, beginning of an id, or identifier.
  func details(
    at location: ControlLocation, of name: String
  ) async throws(TransferError) -> [(transfer: TransferDocument, details: DetailsDocument)]?
}
