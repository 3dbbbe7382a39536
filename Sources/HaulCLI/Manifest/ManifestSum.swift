import FoundationEssentials
import HaulCore

/// What manifests say in all. Of several lines for one file the last counts, except that one that
/// is complete stays so: another run may have found it taken.
struct ManifestSum {
  private var complete: Set<ManifestLine.ID> = []
  private var failed: [ManifestLine.ID: ManifestLine] = [:]
  /// The lengths of the complete files.
  private(set) var bytes: Int64 = 0
  /// How many files the inputs have.
  private var files = 0

  /// - Throws: for a manifest that cannot be read.
  mutating func add(_ path: String) throws(TransferError) {
    var most = 0
    try ManifestFile.forEachLine(of: path) { line in
      if let files = ManifestLine.files(line) { most = max(most, files) }
      if let id = ManifestLine.completed(line) {
        failed[id] = nil
        if complete.insert(id).inserted { bytes += ManifestLine.length(line) }
      } else if let line = ManifestLine(line), let id = ManifestLine.ID(line.id),
        !complete.contains(id)
      {
        failed[id] = line
      }
    }
    files += most
  }

  /// Files that no line tells of: no run has come to them, or it was interrupted.
  var missing: Int { max(0, files - complete.count - failed.count) }

  var isWhole: Bool { failed.isEmpty && missing == 0 }

  /// The failed files, in the order of their ends.
  var failures: [ManifestLine] {
    failed.values.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
  }

  /// The codes, those of the most files first.
  private var codes: [(code: String, count: Int)] {
    Dictionary(grouping: failed.values) { $0.code ?? $0.state.rawValue }
      .map { ($0.key, $0.value.count) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  var text: String {
    let counts = [(failed.count, "failed"), (missing, "missing")].filter { $0.0 > 0 }
      .map { ", \($0.0) \($0.1)" }.joined()
    let lines = codes.map { "\($0.count)  \($0.code)\n" }.joined()
    let all = complete.count + failed.count + missing
    return "\(all) files: \(complete.count) complete (\(Units.bytes(bytes)))\(counts)\n" + lines
  }
}

extension ManifestSum: Encodable {
  private enum Key: String, CodingKey { case files, completed, failed, missing, bytes, codes }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(complete.count + failed.count + missing, forKey: .files)
    try object.encode(complete.count, forKey: .completed)
    try object.encode(failed.count, forKey: .failed)
    try object.encode(missing, forKey: .missing)
    try object.encode(bytes, forKey: .bytes)
    try object.encode(
      Dictionary(uniqueKeysWithValues: codes.map { ($0.code, $0.count) }), forKey: .codes)
  }
}
