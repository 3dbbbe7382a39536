/// The answer of `POST /api/v1/wait`: how many transfers are in these states.
package struct WaitAnswer: Codable, Hashable, Sendable {
  /// Whether all have ended, are paused, or wait for a transfer that was not completed. Otherwise
  /// the time is over: ask again.
  package var isSettled: Bool
  package var completed = 0
  package var failed = 0
  package var cancelled = 0
  /// Also those that wait for a transfer that was not completed.
  package var paused = 0

  package var count: Int { completed + failed + cancelled + paused }

  enum CodingKeys: String, CodingKey {
    case isSettled = "is_settled"
    case completed, failed, cancelled, paused
  }

  package init(isSettled: Bool) { self.isSettled = isSettled }
}
