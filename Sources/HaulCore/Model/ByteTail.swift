/// The last bytes of output of any length.
package struct ByteTail: Sendable, Hashable {
  /// The most bytes that are kept.
  package static let limit = 8 << 10

  private var kept: [UInt8] = []

  package init() {}

  /// At most `limit` bytes.
  package var bytes: ArraySlice<UInt8> { kept.suffix(Self.limit) }

  package mutating func append(_ bytes: some Collection<UInt8>) {
    kept.append(contentsOf: bytes.suffix(Self.limit))
    // Only at twice the limit, so that each byte is moved at most about once.
    if kept.count > 2 * Self.limit { kept = Array(kept.suffix(Self.limit)) }
  }

  /// Its last lines, joined in one line, safe for a terminal and at most `cells` wide; nil if there
  /// are none.
  package func lines(_ count: Int, cells: Int) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    let lines = text.split(whereSeparator: \.isNewline)
      .map { TerminalText.escaped(String($0)).trimmingBytes(" ") }.filter { !$0.isEmpty }
    guard !lines.isEmpty else { return nil }
    return TerminalText.cut(lines.suffix(count).joined(separator: " / "), to: cells)
  }
}
