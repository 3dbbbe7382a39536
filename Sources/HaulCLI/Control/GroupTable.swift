package import HaulControl
import HaulCore

/// The transfers of a group, added up; as JSON, a line of `haul list --groups --json`.
package struct GroupRow: Encodable, Hashable, Sendable {
  package let group: String
  package private(set) var transfers = 0
  /// How many are in each state that one of them has.
  package private(set) var states: [String: Int] = [:]
  package private(set) var bytes: Int64 = 0
  /// Nil if the length of one is not known.
  @Nullable package private(set) var total: Int64? = 0
  /// Bytes per second.
  package private(set) var rate = 0.0
  /// What all wait for that have not ended; nil if they differ, or one does not wait.
  @Nullable package private(set) var waiting: TransferDocument.Wait?
  private var hasOtherReason = false

  private enum CodingKeys: String, CodingKey {
    case group, transfers, states, bytes, total, rate, waiting
  }

  /// The groups of these transfers, by their names. One without a group is left out.
  package static func rows(_ transfers: [TransferDocument]) -> [GroupRow] {
    var rows: [String: GroupRow] = [:]
    for transfer in transfers {
      guard let group = transfer.group else { continue }
      rows[group, default: GroupRow(group: group)].add(transfer)
    }
    return rows.values.sorted { $0.group.utf8.lexicographicallyPrecedes($1.group.utf8) }
  }

  private init(group: String) { self.group = group }

  private mutating func add(_ transfer: TransferDocument) {
    let isFirst = !hasOtherReason && waiting == nil
    transfers += 1
    states[transfer.state.rawValue, default: 0] += 1
    bytes += transfer.bytes
    let length = transfer.state == .completed ? transfer.bytes : transfer.total
    // A step has no bytes.
    total = transfer.kind == .step ? total : length.flatMap { length in total.map { $0 + length } }
    if transfer.state == .running { rate += transfer.rate }
    guard !transfer.state.isEnded else { return }
    if isFirst { waiting = transfer.waiting }
    if waiting?.code != transfer.waiting?.code || waiting == nil {
      (hasOtherReason, waiting) = (true, nil)
    }
    // One text for all, or none that is of one of them only.
    if let other = transfer.waiting, let known = waiting, other.message != known.message {
      waiting = TransferDocument.Wait(code: known.code, message: known.code)
    }
  }

  /// `2 running, 5 queued, 12 completed`, and what all of these wait for.
  package var reason: String {
    let counts = TransferState.allCases.compactMap { state in
      states[state.rawValue].map { "\($0) \(state.rawValue)" }
    }.joined(separator: ", ")
    return counts + (waiting.map { ": \($0.text)" } ?? "")
  }

  package var percent: Int? {
    guard let total, total > 0 else { return nil }
    return TransferProgress(bytes: bytes, total: total).percent
  }
}

/// The groups as a table that fits a width.
package struct GroupTable {
  let table: TextTable

  package init(_ groups: [GroupRow]) {
    let rows = groups.map { row in
      [
        TerminalText.escaped(row.group), TerminalText.escaped(row.reason),
        row.percent.map { "\($0)%" } ?? "",
        Units.bytes(row.total ?? row.bytes), row.rate > 0 ? Units.rate(row.rate) : "",
      ]
    }
    table = TextTable(
      heads: ["GROUP", "STATES", "%", "SIZE", "RATE"], rows: rows, flexible: [0, 1],
      optional: [4, 3], rightAligned: [2, 3, 4], names: [0])
  }

  /// - Parameter width: the cells of a line; nil for no limit.
  package func text(width: Int?, mark: Character = "…") -> String {
    table.text(width: width, mark: mark)
  }
}
