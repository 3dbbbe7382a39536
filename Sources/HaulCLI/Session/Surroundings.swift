package import HaulCore

/// What a run sees of the process around it.
package struct Surroundings: Sendable {
  package var environment: [String: String]
  package var standardOutputIsTerminal: Bool
  package var standardErrorIsTerminal: Bool
  /// The terminal's cells; nil when standard error is none or does not tell.
  package var terminalSize: @Sendable () -> (width: Int, height: Int)?
  package var clock: any TransferClock

  package init(
    environment: [String: String], standardOutputIsTerminal: Bool, standardErrorIsTerminal: Bool,
    terminalSize: @escaping @Sendable () -> (width: Int, height: Int)?, clock: any TransferClock
  ) {
    self.environment = environment
    self.standardOutputIsTerminal = standardOutputIsTerminal
    self.standardErrorIsTerminal = standardErrorIsTerminal
    self.terminalSize = terminalSize
    self.clock = clock
  }

  /// How progress is shown. Bars are left out by `auto` where JSON lines, the file or the log share the
  /// terminal with them.
  package func view(for options: OutputOptions) -> GetReport.ProgressView {
    if options.quiet { return .none }
    switch options.progress {
    case .bar: return .bar
    case .plain: return .plain
    case .none: return .none
    case .auto:
      if options.json || options.streams, standardOutputIsTerminal { return .none }
      let isPlain = !standardErrorIsTerminal || options.verbose || environment["TERM"] == "dumb"
      return isPlain ? .plain : .bar
    }
  }

  package var style: FrameStyle {
    let noColor = environment["NO_COLOR"] ?? ""
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.isEmpty }
    let charset = (locale ?? "").lowercased()
    return FrameStyle(
      colored: noColor.isEmpty && standardErrorIsTerminal && environment["TERM"] != "dumb",
      unicode: charset.contains("utf-8") || charset.contains("utf8"))
  }

  package var size: (width: Int, height: Int) {
    if let size = terminalSize() { return size }
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? 80
    return ((1...10_000).contains(columns) ? columns : 80, 24)
  }
}
