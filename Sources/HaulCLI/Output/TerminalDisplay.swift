/// Keeps a frame at the bottom of a terminal while lines scroll above it: a value that returns the
/// characters to write.
///
/// Between drawings, the cursor is at the start of the frame. A resized terminal may wrap or cut
/// the lines, but the cursor stays with its text, and everything below it is the old frame.
package struct TerminalDisplay: Sendable {
  private var drawn: [ProgressFrame.Line] = []

  package init() {}

  /// Replaces the frame on the screen with `lines`, which stay, and `frame` below them.
  /// - Parameter onlyChanges: whether the terminal shows the last drawing unchanged, so that only
  ///   what differs needs to be written.
  package mutating func update(
    lines: [String] = [], frame: ProgressFrame?, onlyChanges: Bool = false
  ) -> String {
    let next = frame?.lines ?? []
    defer { drawn = next }
    if onlyChanges, lines.isEmpty, !next.isEmpty, drawn.count == next.count {
      return changes(to: next)
    }
    var text = drawn.isEmpty ? "" : "\r\u{1B}[J"
    for line in lines { text += line + "\n" }
    guard !next.isEmpty else { return text }
    return text + next.map(\.text).joined(separator: "\n") + Self.toStart(from: next.count - 1)
  }

  private func changes(to next: [ProgressFrame.Line]) -> String {
    var (text, row) = ("", 0)
    for (index, (old, new)) in zip(drawn, next).enumerated() where old != new {
      text += String(repeating: "\n", count: index - row) + old.change(to: new)
      row = index
    }
    return text.isEmpty ? "" : text + Self.toStart(from: row)
  }

  private static func toStart(from row: Int) -> String {
    row > 0 ? "\r\u{1B}[\(row)A" : "\r"
  }
}

extension ProgressFrame.Line {
  /// What to write at the start of this line, so that the other one stands there.
  fileprivate func change(to new: ProgressFrame.Line) -> String {
    // Terminals disagree about the width of other characters, and then about where a part begins.
    guard parts.map(\.cells) == new.parts.map(\.cells), parts.count > 1,
      parts.first?.isPlain == true, parts.first == new.parts.first
    else { return new.text + "\u{1B}[K" }
    var (text, cursor, start) = ("", 0, 0)
    for (old, part) in zip(parts, new.parts) {
      defer { start += part.cells }
      guard old != part else { continue }
      let (offset, some, cells) = old.change(to: part)
      let distance = start + offset - cursor
      text += (distance > 0 ? "\u{1B}[\(distance)C" : "") + some
      cursor = start + offset + cells
    }
    return text
  }
}

extension ProgressFrame.Line.Part {
  /// Whether each byte takes a cell.
  fileprivate var isPlain: Bool {
    text.utf8.count == cells && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// What differs in the other one, from which cell on.
  fileprivate func change(to new: Self) -> (offset: Int, text: String, cells: Int) {
    guard isPlain, new.isPlain else { return (0, new.text, new.cells) }
    let (old, bytes) = (Array(text.utf8), Array(new.text.utf8))
    let differing = bytes.indices.filter { old[$0] != bytes[$0] }
    guard let first = differing.first, let last = differing.last else { return (0, "", 0) }
    let some = bytes[first...last]
    return (first, String(decoding: some, as: UTF8.self), some.count)
  }
}
