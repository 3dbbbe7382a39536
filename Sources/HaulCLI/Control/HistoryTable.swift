package import HaulControl
import HaulCore

/// What has ended, as a table that fits a width.
package struct HistoryTable {
  let table: TextTable

  /// The most cells of a reason.
  private static let longestReason = 80

  package init(_ entries: [LogEntry]) {
    let names = DistinctNames.of(
      entries.map { (name: $0.name ?? "", place: $0.path ?? $0.url) })
    let rows = entries.map { entry in
      [
        LocalTime.exactText(entry.time), entry.id?.description ?? "",
        TerminalText.escaped(Self.state(of: entry)), entry.bytes.map(Units.bytes) ?? "",
        // The address of a failed one tells it from others of its name.
        TerminalText.escaped(entry.path ?? entry.url ?? entry.name ?? ""),
        TerminalText.cut(
          TerminalText.escaped(
            entry.message ?? TransferResult.text(ofKept: entry.kept, path: entry.path) ?? ""),
          to: Self.longestReason, mark: "…"),
      ]
    }
    table = TextTable(
      heads: ["ENDED", "ID", "STATE", "SIZE", "FILE", "REASON"], rows: rows, flexible: [5, 4, 2],
      optional: [3], rightAligned: [3], names: [4],
      short: (4, names.map(TerminalText.escaped)))
  }

  private static func state(of entry: LogEntry) -> String {
    let reason =
      entry.code ?? entry.warning
      ?? (entry.isUnchanged == true ? "unchanged" : nil)
    return reason.map { "\(entry.kind.rawValue): \($0)" } ?? entry.kind.rawValue
  }

  /// - Parameter width: the cells of a line; nil for no limit.
  package func text(width: Int?, mark: Character = "…") -> String {
    table.text(width: width, mark: mark)
  }
}
