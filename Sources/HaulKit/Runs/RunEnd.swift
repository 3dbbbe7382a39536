package import HaulCore

/// How a run ended.
package enum RunEnd: Sendable {
  case finished(TransferResult)
  case paused
  /// It resumes by itself when its wait reason is gone.
  case suspended(WaitReason)
  /// It should start over, but an earlier run has published the file; the end of that run was not
  /// stored.
  case alreadyPublished(TransferResult)

  /// Whether it will not resume from the bytes on disk.
  var isFinal: Bool {
    switch self {
    case .paused, .suspended: false
    case .finished, .alreadyPublished: true
    }
  }

  /// Whether it failed: a later run may use its bytes.
  var hasFailed: Bool {
    if case .finished(let result) = self { result.state == .failed } else { false }
  }

  /// Whether its file is published.
  var hasFile: Bool {
    switch self {
    case .paused, .suspended: false
    case .finished(let result): result.state == .completed
    case .alreadyPublished: true
    }
  }
}
