/// Keeps a frame at the bottom of a terminal while lines scroll above it: a value that returns the
/// characters to write.
///
/// Between drawings, the cursor is at the start of the frame. A resized terminal may wrap or cut
/// the lines, but the cursor stays with its text, and everything below it is the old frame.
package struct TerminalDisplay: Sendable {
  private var isDrawn = false

  package init() {}

  /// Replaces the frame on the screen with `lines`, which stay, and `frame` below them.
  package mutating func update(lines: [String] = [], frame: ProgressFrame?) -> String {
    let next = frame?.lines ?? []
    var text = isDrawn ? "\r\u{1B}[J" : ""
    for line in lines { text += line + "\n" }
    isDrawn = !next.isEmpty
    guard isDrawn else { return text }
    text += next.map(\.text).joined(separator: "\n") + "\r"
    if next.count > 1 { text += "\u{1B}[\(next.count - 1)A" }
    return text
  }
}
