package import HaulCore

/// What a run sees of the process around it.
package struct ProcessContext: Sendable {
  package var environment: [String: String]
  package var standardOutputIsTerminal: Bool
  package var standardErrorIsTerminal: Bool
  /// The terminal's cells; nil when standard error is none or does not tell.
  package var terminalSize: @Sendable () -> (width: Int, height: Int)?
  /// Whether the terminal listens to this process, and not to another, as after `&`.
  package var isForeground: @Sendable () -> Bool
  package var clock: any TransferClock

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

  /// How progress is shown. Bars are left out by `auto` where JSON lines, the file or the log share
  /// the terminal with them.
  package func view(for options: OutputOptions) -> GetReport.ProgressView {
    if options.quiet { return .none }
    switch options.progress {
    case .bar: return .bar
    case .plain: return .plain
    case .none: return .none
    case .auto:
      if options.json || (options.streams && !options.discards), standardOutputIsTerminal {
        return .none
      }
      let isPlain = !standardErrorIsTerminal || options.verbose || isDumb
      return isPlain ? .plain : .bar
    }
  }

  /// Whether the terminal says that it cannot move its cursor, or nothing at all.
  private var isDumb: Bool { ["dumb", ""].contains(environment["TERM"] ?? "") }

  package var style: FrameStyle {
    let noColor = environment["NO_COLOR"] ?? ""
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.isEmpty }
    let charset = (locale ?? "").lowercased()
    return FrameStyle(
      colored: noColor.isEmpty && standardErrorIsTerminal && !isDumb,
      unicode: charset.contains("utf-8") || charset.contains("utf8"))
  }

  /// Where the bars may be drawn; nil while another process has the terminal.
  package var room: (width: Int, height: Int)? { isForeground() ? size : nil }

  package var size: (width: Int, height: Int) {
    if let size = terminalSize() { return size }
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? 80
    return ((1...10_000).contains(columns) ? columns : 80, 24)
  }
}
