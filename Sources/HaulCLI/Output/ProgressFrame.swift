import HaulCore

/// The style of a frame.
package struct FrameStyle: Hashable, Sendable {
  /// Colour, unless `NO_COLOR` is set.
  package var colored: Bool
  /// Line-drawing characters, when the locale has them.
  package var unicode: Bool

  /// Where text was cut.
  package var mark: Character { unicode ? "…" : "~" }

  package init(colored: Bool = false, unicode: Bool = false) {
    self.colored = colored
    self.unicode = unicode
  }
}

/// One drawing of the progress bars: lines that fit the terminal.
package struct ProgressFrame: Hashable, Sendable {
  /// A line, as parts that stay at their places while their text changes.
  package struct Line: Hashable, Sendable {
    package struct Part: Hashable, Sendable {
      package var text: String
      /// The cells that it takes.
      package var cells: Int
    }

    package var parts: [Part]

    init(_ parts: [Part]) { self.parts = parts }

    init(text: String, cells: Int) { parts = [Part(text: text, cells: cells)] }

    package var text: String { parts.map(\.text).joined() }
    package var cells: Int { parts.reduce(0) { $0 + $1.cells } }
  }

  package private(set) var lines: [Line]

  /// Draws one line for each running file, one that counts the files that wait or do not fit, and a
  /// total if there are several files. Costs O(lines shown).
  /// - Parameters:
  ///   - width: the terminal's width in cells; the last cell stays free, so that no line wraps.
  ///   - height: the terminal's lines; at least one stays free.
  package init(_ model: ProgressModel, width: Int, height: Int, style: FrameStyle) {
    let room = max(1, width - 1)
    let hasTotal = model.expected > 1
    let available = max(1, height - 1) - (hasTotal ? 1 : 0)
    let isMore = model.active.count > available || (hasTotal && model.waiting > 0)
    let hasRest = isMore && available > 1
    let shown = model.active.prefix(hasRest ? available - 1 : available)
    lines = shown.map {
      ProgressRow(model.files[$0], at: model.elapsed).line(room: room, style: style)
    }
    if hasRest {
      let rest = OverflowLine(running: model.active.count - shown.count, waiting: model.waiting)
      if let text = rest.text(room: room, style: style) { lines.append(Self.line(text)) }
    }
    if hasTotal { lines.append(ProgressRow(totalOf: model).line(room: room, style: style)) }
  }

  private static func line(_ text: String) -> Line {
    Line(text: text, cells: TerminalText.width(text))
  }
}

/// The number of files without a line.
private struct OverflowLine {
  /// Running files that do not fit the height.
  let running: Int
  let waiting: Int

  /// The longest text that fits.
  func text(room: Int, style: FrameStyle) -> String? {
    let all = Units.count(running + waiting)
    let lead = style.unicode ? "…" : "and"
    let texts: [String]
    switch (running, waiting) {
    case (0, 0): return nil
    case (0, _): texts = ["\(lead) \(all) more waiting"]
    case (_, 0): texts = ["\(lead) \(all) more running"]
    default:
      let parts = "\(Units.count(running)) more running, \(Units.count(waiting)) waiting"
      texts = ["\(lead) \(parts)"]
    }
    let shorter = texts + ["\(lead) \(all) more", "+\(all)"]
    return shorter.first { TerminalText.width($0) <= room }
      ?? TerminalText.cut("+\(all)", to: room, mark: style.mark)
  }
}
