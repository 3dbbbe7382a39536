extension TransferRequest {
  /// The share of the slots and of a rate limit that a transfer gets.
  ///
  /// A higher priority goes first more often; a lower one always makes progress.
  public enum Priority: Int, CaseIterable, Comparable, Codable, Sendable {
    case background, utility, `default`, userInitiated, userInteractive

    /// `utility`.
    public static let low = Priority.utility
    /// `default`.
    public static let normal = Priority.default
    /// `userInitiated`.
    public static let high = Priority.userInitiated

    /// The share: twice that of the next lower priority.
    package var weight: Int { 1 << rawValue }

    /// Whether the left one has the smaller share.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }
}

extension TransferRequest.Priority {
  /// As options and JSON write it.
  package var name: String {
    switch self {
    case .background: "background"
    case .utility: "utility"
    case .default: "default"
    case .userInitiated: "user-initiated"
    case .userInteractive: "user-interactive"
    }
  }

  package init?(name: String) {
    guard let priority = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = priority
  }

  /// All of them, for messages.
  package static var names: String { allCases.reversed().map(\.name).joined(separator: ", ") }
}
