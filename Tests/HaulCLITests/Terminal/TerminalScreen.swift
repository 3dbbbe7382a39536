/// A small terminal: interprets the output of haul, and shows what would be visible.
struct TerminalScreen {
  /// How lines change with the width.
  enum Resizing: CaseIterable {
    /// Wrapped again, as in most terminals.
    case wraps
    /// Cut off at the right, as in xterm.
    case cuts
  }

  private struct Row {
    /// Characters; a wide one is followed by an empty cell.
    var cells: [Character?] = []
    /// Whether it continues in the next row, only because of the margin.
    var isWrapped = false
  }

  private(set) var width: Int
  private(set) var height: Int
  private let resizing: Resizing
  /// Scrolled-off rows and the rows of the screen.
  private var rows: [Row] = [Row()]
  private var top = 0
  private var row = 0
  private var column = 0
  /// Whether the last cell of the row is used, so that the next character begins a row.
  private var isAtMargin = false

  init(width: Int, height: Int, resizing: Resizing = .wraps) {
    self.width = width
    self.height = height
    self.resizing = resizing
  }

  /// Everything that was written and not erased; wrapped rows are one line.
  var lines: [String] {
    Self.joined(rows).map { String($0.compactMap(\.self)).trimmed }.droppingEmptyEnd
  }

  /// The visible rows.
  var visible: [String] {
    rows[top..<min(rows.count, top + height)].map { String($0.cells.compactMap(\.self)).trimmed }
  }

  /// The row of the cursor on the screen, from 0.
  var cursorRow: Int { row - top }

  /// Interprets output. A line feed also moves to the start of the line, as with the terminal
  /// driver.
  mutating func feed(_ bytes: some Sequence<UInt8>) throws(TerminalToken.Refused) {
    for token in try TerminalToken.tokens(bytes) { take(token) }
  }

  private mutating func take(_ token: TerminalToken) {
    switch token {
    case .text(let character): put(character)
    case .carriageReturn: moveToStart()
    case .lineFeed:
      rows[row].isWrapped = false
      moveToStart()
      moveDown()
    case .up(let count):
      row = max(top, row - count)
      isAtMargin = false
    case .right(let count):
      column = min(width - 1, column + count)
      isAtMargin = false
    case .clearBelow:
      clearLine()
      rows.removeSubrange((row + 1)...)
    case .clearLine: clearLine()
    case .style: break
    }
  }

  private mutating func put(_ character: Character) {
    let cells = min(width, Self.cells(of: character))
    if isAtMargin || column + cells > width {
      rows[row].isWrapped = true
      moveToStart()
      moveDown()
    }
    while rows[row].cells.count < column + cells { rows[row].cells.append(" ") }
    rows[row].cells[column] = character
    if cells == 2 { rows[row].cells[column + 1] = nil }
    column += cells
    isAtMargin = column >= width
  }

  private mutating func moveToStart() {
    column = 0
    isAtMargin = false
  }

  private mutating func moveDown() {
    row += 1
    if row == rows.count { rows.append(Row()) }
    if row >= top + height { top = row - height + 1 }
  }

  private mutating func clearLine() {
    rows[row].cells.removeSubrange(min(column, rows[row].cells.count)...)
    rows[row].isWrapped = false
    isAtMargin = false
  }

  mutating func resize(width: Int, height: Int) {
    self.height = height
    if width != self.width {
      self.width = width
      switch resizing {
      case .wraps: wrap()
      case .cuts: cut()
      }
    }
    column = min(column, width - 1)
    isAtMargin = false
    // The cursor stays visible; rows that no longer fit below it are lost.
    if row >= top + height { top = row - height + 1 }
    if rows.count > top + height { rows.removeSubrange((top + height)...) }
  }

  private mutating func cut() {
    for index in rows.indices { rows[index].cells = Array(rows[index].cells.prefix(width)) }
  }

  private mutating func wrap() {
    let (old, cursor, oldTop) = (rows, row, top)
    rows = []
    var index = 0
    for cells in Self.joined(old) {
      let first = rows.count
      var offset = 0
      // The line contains these old rows: where the rows of the cursor and of the top begin in it.
      var starts: [Int: Int] = [:]
      repeat {
        starts[index] = offset
        offset += old[index].cells.count
        index += 1
      } while index < old.count && old[index - 1].isWrapped
      let pieces = Self.pieces(cells, width: width)
      rows += pieces.indices.map {
        Row(cells: pieces[$0], isWrapped: $0 + 1 < pieces.count)
      }
      func rowIndex(_ start: Int) -> Int {
        var (left, piece) = (start, 0)
        while piece + 1 < pieces.count, left >= pieces[piece].count {
          left -= pieces[piece].count
          piece += 1
        }
        return first + piece
      }
      if let start = starts[cursor] { row = rowIndex(start + column) }
      if let start = starts[oldTop] { top = rowIndex(start) }
    }
    top = min(top, row)
  }

  private static func joined(_ rows: [Row]) -> [[Character?]] {
    var lines: [[Character?]] = []
    var goesOn = false
    for row in rows {
      if goesOn { lines[lines.count - 1] += row.cells } else { lines.append(row.cells) }
      goesOn = row.isWrapped
    }
    return lines
  }

  private static func pieces(_ cells: [Character?], width: Int) -> [[Character?]] {
    var pieces: [[Character?]] = [[]]
    var index = 0
    while index < cells.count {
      let isWide = index + 1 < cells.count && cells[index + 1] == nil
      let size = isWide ? 2 : 1
      if pieces[pieces.count - 1].count + min(size, width) > width { pieces.append([]) }
      pieces[pieces.count - 1].append(contentsOf: cells[index..<(index + min(size, width))])
      index += size
    }
    return pieces
  }

  /// The cells of characters in the tests: Latin, CJK, one emoji, combining marks.
  private static func cells(of character: Character) -> Int {
    let value = character.unicodeScalars.first?.value ?? 0
    let isWide =
      (0x1100...0x115F).contains(value) || (0x2E80...0xD7A3).contains(value)
      || (0xFF00...0xFF60).contains(value) || (0x1F300...0x1FAFF).contains(value)
    return isWide ? 2 : 1
  }
}

extension String {
  fileprivate var trimmed: String {
    String(reversed().drop { $0 == " " }.reversed())
  }
}

extension [String] {
  fileprivate var droppingEmptyEnd: [String] { Array(reversed().drop(while: \.isEmpty).reversed()) }
}
