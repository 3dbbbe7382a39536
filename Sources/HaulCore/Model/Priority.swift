extension TransferRequest {
  /// The share of the slots and of a rate limit that a transfer gets.
  ///
  /// A higher priority goes first more often; a lower one always makes progress.
  public enum Priority: Int, CaseIterable, Comparable, Codable, Sendable {
    case background, utility, `default`, userInitiated, userInteractive

    /// The share: twice that of the next lower priority.
    package var weight: Int { 1 << rawValue }

    /// Whether the left one has the smaller share.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }
}
