/// The exit status of the process; part of the command line contract.
package enum ExitStatus: Int32, Sendable {
  case completed = 0
  /// At least one failed.
  case failed = 1
  /// Wrong usage or configuration; nothing was started.
  case usage = 2
  case interrupted = 130
  /// The reader of standard output went away.
  case outputGone = 141
  case terminated = 143
}

/// Why a run ended before its transfers did.
package enum Interruption: Hashable, Sendable {
  /// SIGINT.
  case interrupt
  /// SIGTERM.
  case terminate
  /// Nobody reads standard output any more.
  case outputGone

  package var status: ExitStatus {
    switch self {
    case .interrupt: .interrupted
    case .terminate: .terminated
    case .outputGone: .outputGone
    }
  }

  var words: String {
    switch self {
    case .interrupt: "interrupted"
    case .terminate: "terminated"
    case .outputGone: "the reader of standard output went away"
    }
  }
}
