package import HaulControl
import HaulCore

/// The list as a table that fits a width.
package struct ListTable {
  let table: TextTable

  package init(_ transfers: [TransferDocument]) {
    let names = DistinctNames.of(Self.rows(transfers))
    let rows = zip(transfers, names).map { transfer, name in
      let isRunning = transfer.state == .running
      return [
        transfer.id.description, TerminalText.escaped(name),
        TerminalText.escaped(transfer.reason), transfer.percent.map { "\($0)%" } ?? "",
        (transfer.total ?? (transfer.bytes > 0 ? transfer.bytes : nil)).map(Units.bytes) ?? "",
        isRunning ? Units.rate(transfer.rate) : "",
        isRunning ? transfer.secondsLeft.map(Units.clock) ?? "" : "",
      ]
    }
    table = TextTable(
      heads: ["ID", "NAME", "STATE", "%", "SIZE", "RATE", "LEFT"], rows: rows, flexible: [1, 2],
      optional: [5, 6, 4], rightAligned: [3, 4, 5, 6], names: [1])
  }

  /// Places are of one kind, because a path and an address tell nothing apart. A program has its
  /// arguments, because many have the name of a shell.
  private static func rows(_ transfers: [TransferDocument]) -> [DistinctNames.Row] {
    let havePaths = transfers.allSatisfy { $0.program != nil || $0.path != nil }
    return transfers.map { transfer in
      guard let program = transfer.program else {
        return (transfer.name, havePaths ? transfer.path : transfer.url)
      }
      let text = TerminalText.escaped(TransferText.commandLine(program))
      return (TerminalText.cutName(text, to: longestProgram), nil)
    }
  }

  private static let longestProgram = 80

  /// - Parameter width: the cells of a line; nil for no limit.
  package func text(width: Int?, mark: Character = "…") -> String {
    table.text(width: width, mark: mark)
  }
}

extension TransferDocument {
  /// The word of the state, as `--state` takes it, and what more there is to say, in a few words.
  var reason: String {
    switch state {
    case _ where waiting != nil:
      "\(state.rawValue): \(waiting?.text ?? "")"
        + (lastRun?.shortText.map { "; last run \($0)" } ?? "")
    case .running: ["running", runningText].compactMap(\.self).joined(separator: ": ")
    case .completed where kind == .upload:
      result?.result.wasThere == true ? "completed: already there" : "completed: uploaded"
    case .completed:
      result?.result.shortText.map { "completed: \($0)" } ?? "completed"
    case .failed: error.map { "failed: \($0.code.rawValue)" } ?? "failed"
    default: stateText
    }
  }

  /// What it does; nil if that is to receive its file.
  private var runningText: String? {
    if let phase, phase != TransferEvent.Phase.transferring.rawValue { return phase }
    return kind == .upload ? "uploading" : nil
  }

  /// The state; that of a program that should stop and cannot says what happens.
  var stateText: String {
    runsToEnd && state == .stopping ? "stopping: runs to its end" : state.rawValue
  }

  var percent: Int? {
    if state == .completed { return 100 }
    return TransferProgress(bytes: bytes, total: total).percent ?? fraction.map { Int($0 * 100) }
  }
}

extension TransferDocument.LastRun {
  /// How it differs from one that has fetched a file; nil if it does not.
  fileprivate var shortText: String? {
    if let error { return "failed: \(error.code.rawValue)" }
    return isUnchanged == true ? "unchanged" : TransferResult.text(ofKept: kept, path: path)
  }
}

extension TransferResult {
  /// What a row says of a completed one, beside that; nil for nothing.
  fileprivate var shortText: String? {
    warning?.code ?? (isUnchanged ? "unchanged" : keptText)
  }
}
