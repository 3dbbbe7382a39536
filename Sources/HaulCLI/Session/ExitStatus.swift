/// The exit status of the process; part of the command line contract.
package enum ExitStatus: Int32, Sendable {
  case completed = 0
  /// At least one transfer failed.
  case failed = 1
  /// Wrong usage or configuration; nothing was started.
  case usage = 2
  /// Nothing failed, and something is paused or was cancelled.
  case stopped = 3
  /// `EX_TEMPFAIL`: another run of the same command may complete what is left.
  case tryAgain = 75
  case hungUp = 129
  case interrupted = 130
  case quit = 131
  /// Standard output was closed by its reader.
  case outputGone = 141
  case terminated = 143
}

/// Why a run ended before its transfers did.
package enum Interruption: Hashable, Sendable {
  /// SIGINT.
  case interrupt
  /// SIGTERM.
  case terminate
  /// SIGHUP.
  case hangUp
  /// Standard output no longer has a reader.
  case outputGone

  package var status: ExitStatus {
    switch self {
    case .interrupt: .interrupted
    case .terminate: .terminated
    case .hangUp: .hungUp
    case .outputGone: .outputGone
    }
  }

  var text: String {
    switch self {
    case .interrupt: "interrupted"
    case .terminate: "terminated"
    case .hangUp: "hung up (SIGHUP)"
    case .outputGone: "the reader of standard output closed it"
    }
  }
}
