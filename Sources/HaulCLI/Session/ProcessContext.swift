package import HaulControl
package import HaulCore

/// The environment of a run.
package struct ProcessContext: Sendable {
  package var environment: [String: String]
  package var standardOutputIsTerminal: Bool
  package var standardErrorIsTerminal: Bool
  /// Whether standard error is a file: a log that somebody reads later.
  package var standardErrorIsFile = false
  /// The terminal's size in cells; nil if standard error is not a terminal or has no size.
  package var terminalSize: @Sendable () -> (width: Int, height: Int)?
  /// Whether this process is in the terminal's foreground, unlike after `&`.
  package var isForeground: @Sendable () -> Bool
  package var clock: any TransferClock
  package var limits = ProcessLimits()
  /// Without the program's name.
  package var arguments: [String] = []
  /// The path of this program, which starts the daemon.
  package var executable = "haul"
  /// The `umask` of this process, which the daemon gives the files.
  package var creationMask: UInt32 = 0
  /// Nil where no daemon can have left a list.
  package var stored: (any StoredListReader)?
  package var serve: HaulProgram.Serve = { _, _, _, _, _ in }

  package init(
    environment: [String: String], standardOutputIsTerminal: Bool, standardErrorIsTerminal: Bool,
    terminalSize: @escaping @Sendable () -> (width: Int, height: Int)?,
    isForeground: @escaping @Sendable () -> Bool = { true }, clock: any TransferClock
  ) {
    self.environment = environment
    self.standardOutputIsTerminal = standardOutputIsTerminal
    self.standardErrorIsTerminal = standardErrorIsTerminal
    self.terminalSize = terminalSize
    self.isForeground = isForeground
    self.clock = clock
  }

  /// How progress is shown. `auto` shows no bars when JSON lines, the file or the log share the
  /// terminal, and when another process is in its foreground at the start: that may last.
  package func view(for options: OutputOptions) -> ForegroundReport.ProgressView {
    if options.quiet { return .none }
    switch options.progress {
    case .bar: return .bar
    case .plain: return .plain
    case .none: return .none
    case .auto:
      if options.json || (options.streams && !options.discards), standardOutputIsTerminal {
        return .none
      }
      let isPlain = !standardErrorIsTerminal || options.verbose || isDumb || !isForeground()
      return isPlain ? .plain : .bar
    }
  }

  /// Whether each line on standard error begins with the time: in a log, or if that was asked for.
  func hasTimes(for options: OutputOptions) -> Bool {
    options.timeStamps ?? standardErrorIsFile
  }

  /// Whether the terminal cannot move its cursor, or that is unknown.
  private var isDumb: Bool { ["dumb", ""].contains(environment["TERM"] ?? "") }

  package var style: FrameStyle {
    let noColor = environment["NO_COLOR"] ?? ""
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.isEmpty }
    let charset = (locale ?? "").lowercased()
    return FrameStyle(
      colored: noColor.isEmpty && standardErrorIsTerminal && !isDumb,
      unicode: charset.hasBytes("utf-8") || charset.hasBytes("utf8"))
  }

  /// The size for the bars; nil while another process is in the terminal's foreground.
  package var drawableSize: (width: Int, height: Int)? { isForeground() ? size : nil }

  package var size: (width: Int, height: Int) {
    if let size = terminalSize() { return size }
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? 80
    return ((1...10_000).contains(columns) ? columns : 80, 24)
  }

  /// The table, within the width of a terminal.
  func fitted(_ table: TextTable) -> String {
    table.text(width: standardOutputIsTerminal ? size.width : nil, mark: style.mark)
  }
}
