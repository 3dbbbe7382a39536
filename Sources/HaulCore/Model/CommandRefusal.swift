/// Why a command left a transfer as it was, when its sender may have wanted something else.
public enum CommandRefusal: String, Sendable, Hashable, Codable, CaseIterable {
  /// It is completed; only `restart` downloads it again.
  case isCompleted
  /// It has failed; `retry` goes on.
  case hasFailed
  /// It was cancelled; `retry` and `restart` begin again.
  case isCancelled
  /// Something runs for it; pause it first.
  case isRunning
  /// It is being cancelled at this moment.
  case isBeingCancelled
  /// It is being taken off the list at this moment.
  case isBeingRemoved
  /// The file that it was to make is that of another transfer since, which has not ended.
  case targetIsTaken
  /// It is not in the list.
  case isUnknown
}

extension CommandRefusal {
  /// The same for a person, with what to do.
  package var message: String {
    switch self {
    case .isCompleted: "it is completed; restart it to download it again"
    case .hasFailed: "it has failed; retry it to resume"
    case .isCancelled: "it was cancelled; retry or restart it to begin again"
    case .isRunning: "it is running; pause it first"
    case .isBeingCancelled: "it is being cancelled"
    case .isBeingRemoved: "it is being removed from the list"
    case .targetIsTaken: "its target file now belongs to another transfer"
    case .isUnknown: "it is not in the list"
    }
  }
}
