import HaulControl
import HaulCore

/// What to print, and how.
package struct OutputOptions: Hashable, Sendable {
  /// How progress is shown on standard error.
  package enum ProgressMode: String, CaseIterable, Sendable {
    /// Bars on a terminal, plain lines elsewhere.
    case auto
    case bar
    case plain
    case none
  }

  /// Events as JSON lines on standard output.
  package var json = false
  /// Only errors.
  package var quiet = false
  /// The engine's log as well.
  package var verbose = false
  package var progress = ProgressMode.auto
  /// Whether lines on standard error begin with the time; nil for only in a file.
  package var timeStamps: Bool?
  /// The file itself goes to standard output.
  package var streams = false
  /// The file's bytes are discarded.
  package var discards = false
  /// Whether the same command continues what an interrupt left.
  package var resumes = true
  /// The descriptor whose bytes are uploaded, which no other command can continue: 0 is standard
  /// input. Nil if files are.
  package var input: Int32?
  /// How long transfers of a `--worker` may run on after SIGTERM. Nil if no engine runs the command
  /// again.
  package var drain: Duration?
  /// Whether a manifest has what becomes of each file.
  package var hasManifest = false
  /// Whether a file counts as completed that nothing proves.
  package var allowsUnverified = false
  /// The path of the file for what a run does; nil without one.
  package var metricsFile: String?
  /// The directory for the records of uploads; nil for that of the user.
  package var recordDirectory: String?
  /// Whether the stores are asked if they obey conditions.
  var probe = StoreProbe.Use.nothing
  /// Whether each bucket has a host of its own.
  var bucketsAreInHosts = false

  package init() {}

  /// The state that counts: a list may be run for its status alone, so a file that may be a wrong
  /// one is failed there.
  func state(of result: TransferResult) -> TransferResult.State {
    drain == nil && !hasManifest
      ? result.state : result.strictState(allowingUnverified: allowsUnverified)
  }
}
