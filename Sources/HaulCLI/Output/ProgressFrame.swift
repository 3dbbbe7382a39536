import HaulCore

/// How a frame may look.
package struct FrameStyle: Hashable, Sendable {
  /// Colour, unless `NO_COLOR` is set.
  package var colored: Bool
  /// Line-drawing characters, when the locale has them.
  package var unicode: Bool

  package init(colored: Bool = false, unicode: Bool = false) {
    self.colored = colored
    self.unicode = unicode
  }
}

/// One drawing of the progress bars: lines that fit the terminal.
package struct ProgressFrame: Hashable, Sendable {
  /// A line and the cells it takes.
  package struct Line: Hashable, Sendable {
    package var text: String
    package var cells: Int
  }

  package private(set) var lines: [Line]

  /// Draws the active files, and a total when there is more than one file.
  /// - Parameters:
  ///   - files: all files of the run, in the order they were given.
  ///   - expected: how many files there will be; not all need to be known yet.
  ///   - width: the terminal's cells; the last one stays free, so that no line wraps.
  ///   - height: the terminal's lines; at least one stays free.
  package init(
    _ files: [FileProgress], expected: Int, width: Int, height: Int, style: FrameStyle
  ) {
    let room = max(1, width - 1)
    let active = files.filter(\.isActive)
    let hasTotal = expected > 1
    let available = max(1, height - 1 - (hasTotal ? 1 : 0))
    let shown = active.count <= available ? active[...] : active.prefix(max(0, available - 1))
    lines = shown.map { file in
      ProgressRow(file).line(room: room, style: style)
    }
    if shown.count < active.count, available > 1 {
      let text = TerminalText.cut("and \(active.count - shown.count) more", to: room)
      lines.append(Line(text: text, cells: TerminalText.width(text)))
    }
    if hasTotal {
      let total = ProgressRow(totalOf: files, expected: expected)
      lines.append(total.line(room: room, style: style))
    }
  }
}
