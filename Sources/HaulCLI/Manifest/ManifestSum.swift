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
  /// How many complete files each address has; only counted for a split.
  private var addresses: [ManifestLine.ID: Int] = [:]
  private let countsAddresses: Bool

  init(countingAddresses: Bool = false) { countsAddresses = countingAddresses }

  /// How many files of an address are complete.
  func complete(at address: ManifestLine.ID) -> Int { addresses[address] ?? 0 }

  /// - Throws: for a manifest that cannot be read.
  mutating func add(_ path: String) throws(TransferError) {
    var most = 0
    try ManifestFile.forEachEntry(of: path) { entry in
      switch entry {
      case .files(let files): most = max(most, files)
      case .failed(let id, let line): if !complete.contains(id) { failed[id] = line }
      case .complete(let id, let line):
        failed[id] = nil
        guard complete.insert(id).inserted else { return }
        bytes += line.bytes
        if countsAddresses { addresses[ManifestLine.ID(hashing: line.url), default: 0] += 1 }
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
