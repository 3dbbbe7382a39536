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
    case .isCompleted: "it is completed; only a restart downloads it again"
    case .hasFailed: "it has failed; a retry goes on"
    case .isCancelled: "it was cancelled; a retry or a restart begins again"
    case .isRunning: "something runs for it; pause it first"
    case .isBeingCancelled: "it is being cancelled at this moment"
    case .isBeingRemoved: "it is being taken off the list at this moment"
    case .targetIsTaken: "the file that it was to make is that of another transfer since"
    case .isUnknown: "it is not in the list"
    }
  }
}
