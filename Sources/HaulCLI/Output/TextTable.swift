import HaulCore

/// A table that fits a width. Its texts are escaped already.
package struct TextTable {
  let heads: [String]
  let rows: [[String]]
  /// Columns that share what the others leave; they are cut.
  let flexible: [Int]
  /// Columns that a narrow terminal does without, the first one first.
  let optional: [Int]
  let rightAligned: Set<Int>
  /// Columns whose texts are cut in their middle.
  var names: Set<Int> = []
  /// The texts of a column for a width that its own do not fit.
  var short: (column: Int, texts: [String])?

  private static let gap = "  "

  /// - Parameters:
  ///   - width: the cells of a line; nil for no limit.
  ///   - mark: where text was cut.
  package func text(width: Int?, mark: Character = "…") -> String {
    guard let width, let short else { return text(of: rows, width, mark) }
    let all = [heads] + rows
    let full = heads.indices.filter { !optional.contains($0) }
    guard total(full, widths(of: all)) > width else { return text(of: rows, width, mark) }
    let shortened = zip(rows, short.texts).map { row, text in
      var row = row
      row[short.column] = text
      return row
    }
    return text(of: shortened, width, mark)
  }

  private func text(of rows: [[String]], _ width: Int?, _ mark: Character) -> String {
    let all = [heads] + rows
    var columns = Array(heads.indices)
    var widths = widths(of: all)
    if let width {
      for column in optional where total(columns, widths) > width {
        columns.removeAll { $0 == column }
      }
      var excess = total(columns, widths) - width
      for least in [12, 6] {
        for column in flexible where excess > 0 {
          let cut = min(excess, max(0, widths[column] - least))
          widths[column] -= cut
          excess -= cut
        }
      }
    }
    return all.map { line($0, columns, widths, mark) }.joined()
  }

  private func widths(of rows: [[String]]) -> [Int] {
    heads.indices.map { column in rows.map { TerminalText.width($0[column]) }.max() ?? 0 }
  }

  private func total(_ columns: [Int], _ widths: [Int]) -> Int {
    columns.reduce(0) { $0 + widths[$1] } + Self.gap.count * (columns.count - 1)
  }

  private func line(
    _ row: [String], _ columns: [Int], _ widths: [Int], _ mark: Character
  ) -> String {
    let cells = columns.map { column in
      let cut = names.contains(column) ? TerminalText.cutName : TerminalText.cut
      let text = cut(row[column], widths[column], mark)
      let padding = String(repeating: " ", count: widths[column] - TerminalText.width(text))
      return rightAligned.contains(column) ? padding + text : text + padding
    }
    var line = cells.joined(separator: Self.gap)
    while line.last == " " { line.removeLast() }
    return line + "\n"
  }
}
