/// The output of one run on standard error: lines, and bars below them. Lines wait for the next
/// `redraw`, so that each does not need its own drawing.
package struct ProgressScreen: Sendable {
  private let hasBars: Bool
  private let style: FrameStyle
  private let size: @Sendable () -> (width: Int, height: Int)?
  private var display = TerminalDisplay()
  private var waiting: [String] = []
  private var drawn: Drawn?
  /// Drawings of changes since the last whole one.
  private var changes = 0
  /// A whole drawing repairs what another program, or a quick resize, has left.
  private static let maximumChanges = 100

  /// What is on the screen; a different size means that the terminal may have wrapped it.
  private struct Drawn: Hashable {
    var frame: ProgressFrame
    var width: Int
    var height: Int
  }

  /// - Parameter size: called for each drawing, because a terminal may be resized. Nil while
  ///   nothing may be drawn.
  package init(
    hasBars: Bool, style: FrameStyle, size: @escaping @Sendable () -> (width: Int, height: Int)?
  ) {
    self.hasBars = hasBars
    self.style = style
    self.size = size
  }

  /// The text to write now for these lines; empty while bars are shown.
  package mutating func add(_ lines: [String]) -> String {
    guard hasBars else { return lines.map { $0 + "\n" }.joined() }
    waiting += lines
    return ""
  }

  /// The waiting lines and the bars below them; empty if nothing has changed.
  package mutating func redraw(_ model: ProgressModel) -> String {
    guard hasBars else { return "" }
    guard let (width, height) = size() else {
      drawn = nil
      display = TerminalDisplay()
      defer { waiting = [] }
      return display.update(lines: waiting, frame: nil)
    }
    let frame = ProgressFrame(model, width: width, height: height, style: style)
    let next = Drawn(frame: frame, width: width, height: height)
    guard !waiting.isEmpty || next != drawn else { return "" }
    let isUnchanged = drawn.map { $0.width == width && $0.height == height } ?? false
    changes = isUnchanged && waiting.isEmpty && changes < Self.maximumChanges ? changes + 1 : 0
    drawn = next
    defer { waiting = [] }
    return display.update(lines: waiting, frame: frame, onlyChanges: changes > 0)
  }

  /// The waiting lines, without bars.
  package mutating func close() -> String {
    defer { waiting = [] }
    return display.update(lines: waiting, frame: nil)
  }
}
