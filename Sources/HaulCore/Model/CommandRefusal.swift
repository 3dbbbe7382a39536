/// Why a command had no effect on a transfer, when its caller may have expected one.
public enum CommandRefusal: String, Sendable, Hashable, Codable, CaseIterable {
  /// It is completed; only `restart` downloads it again.
  case isCompleted
  /// It has failed; `retry` tries it again.
  case hasFailed
  /// It was cancelled; `retry` or `restart` it.
  case isCancelled
  /// It is running; pause it first.
  case isRunning
  /// It is being cancelled.
  case isBeingCancelled
  /// It is being removed from the list.
  case isBeingRemoved
  /// Its target file now belongs to another transfer, which has not ended.
  case targetIsTaken
  /// It is not in the list.
  case isUnknown
}

extension CommandRefusal: CustomStringConvertible {
  /// The raw value.
  public var description: String { rawValue }
}

extension CommandRefusal {
  /// What an error says about it.
  var text: (fact: String, advice: String?) {
    switch self {
    case .isCompleted: ("it is completed", "restart it to download it again")
    case .hasFailed: ("it has failed", "retry it")
    case .isCancelled: ("it was cancelled", "retry or restart it")
    case .isRunning: ("it is running", "pause it first")
    case .isBeingCancelled: ("it is being cancelled", nil)
    case .isBeingRemoved: ("it is being removed from the list", nil)
    case .targetIsTaken: ("its target file now belongs to another transfer", nil)
    case .isUnknown: ("it is not in the list", nil)
    }
  }
}
