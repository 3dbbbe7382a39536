/// Keeps a frame at the bottom of a terminal while lines scroll above it: a value that tells
/// which characters to write.
///
/// Between two drawings the cursor stands where the frame begins. When a terminal is resized it may
/// wrap the lines anew or cut them off, as it likes; in either case the cursor stays with the text
/// it stands on, and all that is below it is the old frame.
package struct TerminalDisplay: Sendable {
  private var isDrawn = false

  package init() {}

  /// What replaces the frame on the screen by `lines`, to stay, and `frame` under them.
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
