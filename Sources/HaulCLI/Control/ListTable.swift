package import HaulControl
import HaulCore

/// The list as a table that fits a width.
package struct ListTable {
  private let rows: [[String]]

  private static let heads = ["ID", "NAME", "STATE", "%", "SIZE", "RATE", "LEFT"]
  private static let name = 1
  private static let state = 2
  /// Columns that a narrow terminal does without, the first one first.
  private static let optional = [5, 6, 4]
  private static let gap = "  "

  package init(_ transfers: [TransferDocument]) {
    rows = transfers.map { transfer in
      let isRunning = transfer.state == .running
      return [
        transfer.id.description, TerminalText.escaped(transfer.name),
        TerminalText.escaped(transfer.reason), transfer.percent.map { "\($0)%" } ?? "",
        (transfer.total ?? (transfer.bytes > 0 ? transfer.bytes : nil)).map(Units.bytes) ?? "",
        isRunning ? Units.rate(transfer.rate) : "",
        isRunning ? transfer.secondsLeft.map(Units.clock) ?? "" : "",
      ]
    }
  }

  /// - Parameter width: the cells of a line; nil for no limit.
  package func text(width: Int?) -> String {
    let all = [Self.heads] + rows
    var columns = Array(Self.heads.indices)
    var widths = columns.map { column in all.map { TerminalText.width($0[column]) }.max() ?? 0 }
    if let width {
      for column in Self.optional where total(columns, widths) > width {
        columns.removeAll { $0 == column }
      }
      // The name and the reason share what the others leave.
      var excess = total(columns, widths) - width
      for column in [Self.name, Self.state] where excess > 0 {
        let cut = min(excess, max(0, widths[column] - 12))
        widths[column] -= cut
        excess -= cut
      }
    }
    return all.map { line($0, columns, widths) }.joined()
  }

  private func total(_ columns: [Int], _ widths: [Int]) -> Int {
    columns.reduce(0) { $0 + widths[$1] } + Self.gap.count * (columns.count - 1)
  }

  private func line(_ row: [String], _ columns: [Int], _ widths: [Int]) -> String {
    let cells = columns.map { column in
      let text = TerminalText.cut(row[column], to: widths[column])
      let padding = String(repeating: " ", count: widths[column] - TerminalText.width(text))
      return column > Self.state ? padding + text : text + padding
    }
    var line = cells.joined(separator: Self.gap)
    while line.last == " " { line.removeLast() }
    return line + "\n"
  }
}

extension TransferDocument {
  /// The state, or why it is in it, in a few words.
  var reason: String {
    switch state {
    case _ where waiting != nil: "\(state.rawValue): \(waiting?.text ?? "")"
    case .running: phase ?? (kind == .upload ? "uploading" : "running")
    case .completed where kind == .upload: "uploaded"
    case .failed: error.map { "failed: \($0.code.rawValue)" } ?? "failed"
    default: state.rawValue
    }
  }

  var percent: Int? {
    if state == .completed { return 100 }
    return TransferProgress(bytes: bytes, total: total).percent ?? fraction.map { Int($0 * 100) }
  }
}
