extension TransferRequest {
  /// How much of the slots, and of a shared rate limit, a transfer gets beside others.
  ///
  /// A higher one is more likely to go first; a lower one always advances.
  public enum Priority: Int, CaseIterable, Comparable, Codable, Sendable {
    case background, utility, `default`, userInitiated, userInteractive

    /// The share: each priority has twice that of the one below.
    package var weight: Int { 1 << rawValue }

    /// Whether the left one has the smaller share.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }
}
