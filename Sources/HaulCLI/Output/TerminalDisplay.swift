/// Keeps a frame at the bottom of a terminal while lines scroll above it: a value that tells
/// which characters to write.
package struct TerminalDisplay: Sendable {
  private var drawn: [Int] = []

  package init() {}

  /// What replaces the frame on the screen by `lines`, to stay, and `frame` under them.
  package mutating func update(
    lines: [String] = [], frame: ProgressFrame?, width: Int
  ) -> String {
    let next = frame?.lines ?? []
    if drawn.isEmpty, next.isEmpty { return lines.map { $0 + "\n" }.joined() }
    var text = erasure(width: width)
    for line in lines { text += line + "\n" }
    for line in next { text += line.text + "\n" }
    drawn = next.map(\.cells)
    return text
  }

  /// Goes back to the frame's first line and clears from there. A terminal that was made narrower
  /// has wrapped the old lines.
  private func erasure(width: Int) -> String {
    guard !drawn.isEmpty else { return "" }
    let width = max(1, width)
    let rows = drawn.map { max(1, ($0 + width - 1) / width) }.reduce(0, +)
    return "\r\u{1B}[\(rows)A\u{1B}[J"
  }
}
