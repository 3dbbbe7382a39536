import FoundationEssentials
import HaulCore

/// What manifests say in all. Of several lines for one file the last counts, except that one that
/// is complete stays so if a run fails that began before: it may have found it taken.
struct ManifestSum {
  /// The length of each complete file, how many runs had begun by its end, and whether nothing
  /// proves it.
  private var complete: [ManifestLine.ID: (bytes: Int64, run: Int, isUnverified: Bool)] = [:]
  private var failed: [ManifestLine.ID: ManifestLine] = [:]
  /// Which file was the first with each path, and its address.
  private var owners: [ManifestLine.ID: (id: ManifestLine.ID, url: ManifestLine.ID)] = [:]
  /// Complete files with the path of another address: one has replaced the other, or was left out.
  private var clashes: [ManifestLine.ID: (line: ManifestLine, owner: ManifestLine.ID)] = [:]
  /// Each manifest counts as one more.
  private var runs = 0
  /// How many files the inputs have.
  private var files = 0
  /// How many complete files each address has; only counted for a split.
  private var addresses: [ManifestLine.ID: Int] = [:]
  private let countsAddresses: Bool
  /// How many files of the lists no line tells of; nil without lists.
  private var missingOfLists: Int?

  init(countingAddresses: Bool = false) { countsAddresses = countingAddresses }

  /// How many files of an address are complete.
  func complete(at address: ManifestLine.ID) -> Int { addresses[address] ?? 0 }

  /// - Throws: for a manifest that cannot be read.
  mutating func add(_ path: String) throws(TransferError) {
    var most = 0
    runs += 1
    let first = runs
    try ManifestFile.forEachEntry(of: path) { entry in
      switch entry {
      case .files(let files):
        runs += 1
        most = max(most, files)
      case .failed(let id, let line):
        if let run = complete[id]?.run {
          // Which of two manifests is the later one is not known. But the older version of a file
          // may have replaced the complete one at any time.
          guard line.isDoubt || run >= first && run < runs else { return }
          (complete[id], clashes[id]) = (nil, nil)
          count(line.url, -1)
        }
        failed[id] = line
      case .complete(let id, let line):
        guard let bytes = line.integer("bytes") else { return }
        if let doubt = failed[id], doubt.isDoubt, line.number("time") ?? 0 <= doubt.time { return }
        failed[id] = nil
        if let run = complete[id]?.run {
          guard run >= first else { return }
        } else if countsAddresses, let url = line.text("url") {
          count(url, 1)
        }
        let isUnverified = line.text("verified") == TransferResult.Verification.unverified.rawValue
        complete[id] = (bytes, runs, isUnverified)
        notePath(of: line, id)
      }
    }
    files += most
  }

  private mutating func count(_ url: String, _ change: Int) {
    if countsAddresses { addresses[ManifestLine.ID(hashing: url), default: 0] += change }
  }

  private mutating func notePath(of line: LineValues, _ id: ManifestLine.ID) {
    clashes[id] = nil
    guard let text = line.text("path"), let address = line.text("url") else { return }
    let (path, url) = (ManifestLine.ID(hashing: text), ManifestLine.ID(hashing: address))
    guard let first = owners[path], complete[first.id] != nil else {
      owners[path] = (id, url)
      return
    }
    guard first.url != url, var clash = ManifestLine(line.line) else { return }
    (clash.state, clash.code, clash.retryable) = (.failed, "name-conflict", false)
    clash.message = "the file of another address has the same path, \(text)"
    clashes[id] = (clash, first.id)
  }

  private var conflicts: [ManifestLine] {
    clashes.values.filter { complete[$0.owner] != nil }.map(\.line)
  }

  private var completed: Int { complete.count - conflicts.count }

  /// The lengths of the complete files.
  private var bytes: Int64 {
    complete.values.reduce(0) { $0 + $1.bytes } - conflicts.reduce(0) { $0 + $1.bytes }
  }

  /// Complete files that nothing proves.
  private var unverified: Int {
    complete.values.count { $0.isUnverified } - conflicts.count { $0.verified == .unverified }
  }

  /// Files that no line tells of: no run has come to them, or it was interrupted.
  var missing: Int { missingOfLists ?? max(0, files - complete.count - failed.count) }

  /// Compares it with the lists of the job: a task that never began has no manifest.
  mutating func compare(with lists: SplitPlan) throws(UsageError) {
    missingOfLists = try ShardRows.missing(of: lists, in: self)
  }

  var isWhole: Bool { failures.isEmpty && missing == 0 }

  /// The failed files, in the order of their ends.
  var failures: [ManifestLine] {
    (failed.values + conflicts).sorted { ($0.time, $0.id) < ($1.time, $1.id) }
  }

  /// The codes, those of the most files first.
  private var codes: [(code: String, count: Int)] {
    Dictionary(grouping: failures) { $0.code ?? $0.state.rawValue }
      .map { ($0.key, $0.value.count) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  /// `--failed` prints them all.
  private static let conflictsShown = 20

  var text: String {
    let counts = [
      (unverified, "of them unverified"), (failures.count, "failed"), (missing, "missing"),
    ].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
    let lines = codes.map { "\($0.count)  \($0.code)\n" }.joined()
    let names = conflicts.sorted { $0.id < $1.id }.prefix(Self.conflictsShown)
      .map { Messages.shown("\($0.url): \($0.message ?? "")") + "\n" }.joined()
    let all = complete.count + failed.count + missing
    return "\(all) files: \(completed) complete (\(Units.bytes(bytes)))\(counts)\n" + lines + names
  }
}

extension ManifestSum: Encodable {
  private enum Key: String, CodingKey {
    case files, completed, unverified, failed, missing, bytes, codes
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(complete.count + failed.count + missing, forKey: .files)
    try object.encode(completed, forKey: .completed)
    try object.encode(unverified, forKey: .unverified)
    try object.encode(failures.count, forKey: .failed)
    try object.encode(missing, forKey: .missing)
    try object.encode(bytes, forKey: .bytes)
    try object.encode(
      Dictionary(uniqueKeysWithValues: codes.map { ($0.code, $0.count) }), forKey: .codes)
  }
}

extension ManifestLine {
  /// Whether the file may have been replaced with an older version, although another run had
  /// completed it.
  fileprivate var isDoubt: Bool { code == TransferError.Code.sourceChanged.rawValue }
}
