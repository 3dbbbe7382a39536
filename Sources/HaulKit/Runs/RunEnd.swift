package import HaulCore

/// How a run ended.
package enum RunEnd: Sendable {
  case finished(TransferResult)
  case paused
  /// It goes on by itself, when what it waits for is there.
  case suspended(WaitReason)
  /// It was to begin again, and the file of an earlier run, whose end nobody stored, has its name
  /// already.
  case foundPublished(TransferResult)

  /// Whether it does not go on with the bytes that are there.
  var isOver: Bool {
    switch self {
    case .paused, .suspended: false
    case .finished, .foundPublished: true
    }
  }

  /// Whether its file has its name.
  var hasFile: Bool {
    switch self {
    case .paused, .suspended: false
    case .finished(let result): result.state == .completed
    case .foundPublished: true
    }
  }
}
