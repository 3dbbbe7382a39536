package import HaulCore

/// The answer of `POST /api/v1/wait`: how many transfers are in these states.
package struct WaitResponse: Codable, Hashable, Sendable {
  /// Whether all have ended, are paused, or wait for a transfer that was not completed. Otherwise
  /// the time is over: ask again.
  package var isSettled: Bool
  package var completed = 0
  package var failed = 0
  package var cancelled = 0
  /// Also those that wait for a transfer that was not completed.
  package var paused = 0
  /// Removed during the wait, before they were completed.
  package var removed = 0
  /// A line about each completed one whose file may be wrong, of the last thousand.
  package var warnings: [String] = []
  /// Those that are still in the list.
  package var ids: [TransferID]

  package var count: Int { completed + failed + cancelled + paused + removed }

  enum CodingKeys: String, CodingKey {
    case isSettled = "settled"
    case completed, failed, cancelled, paused, removed, warnings, ids
  }

  package init(isSettled: Bool, ids: [TransferID]) { (self.isSettled, self.ids) = (isSettled, ids) }
}
