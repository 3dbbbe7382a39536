import FoundationEssentials
import HaulCore

/// What manifests say in all.
struct ManifestSum {
  /// A file that failed, or that is complete with the path or the target of another address: one
  /// has replaced the other, or was left out.
  private struct Failure: Comparable {
    let time: Double
    let line: Int
    let isConflict: Bool

    static func < (left: Failure, right: Failure) -> Bool {
      (left.time, left.line) < (right.time, right.line)
    }
  }

  private let index = ManifestIndex()
  /// How many files the inputs have.
  private var files = 0
  private var completed = 0
  /// Complete files that nothing proves.
  private var unverified = 0
  /// The lengths of the complete files.
  private var bytes: Int64 = 0
  /// In the order of their ends.
  private var failures: [Failure] = []
  private var counts: [String: Int] = [:]
  /// The addresses of the files; only known for lists.
  private(set) var addresses = AddressTable()
  private let countsAddresses: Bool
  /// How many files of the lists no line tells of; nil without lists.
  private var missingOfLists: Int?

  /// - Throws: for a manifest that cannot be read.
  init(of places: [ManifestPlace], countingAddresses: Bool = false) throws(TransferError) {
    countsAddresses = countingAddresses
    for place in places { files += try index.add(try ManifestText(place)) }
    // The hash of each place, and the line of the file.
    var owners: [(place: UInt64, line: Int)] = []
    try index.takeLines { (number, line) throws(TransferError) in
      let values = LineValues(line)
      guard ManifestLine.end(line)?.isComplete == true else {
        if let line = ManifestLine(line) { fail(line, line.code ?? line.state.rawValue, number) }
        return
      }
      guard count(values, 1) else { return }
      if let place = Self.place(values) {
        let hash = AddressTable.hash { hasher in
          place.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        owners.append((hash, number))
      }
    }
    owners.sort { ($0.place, $0.line) < ($1.place, $1.line) }
    var rest = owners[...]
    while let first = rest.first {
      let same = rest.prefix { $0.place == first.place }
      rest = rest.dropFirst(same.count)
      if same.count > 1 { try noteConflicts(of: same.map(\.line)) }
    }
    failures.sort()
  }

  /// Where a complete file is, and no other one: its path on this machine, or its target on a
  /// server. Nil if the server has named it.
  private static func place(_ values: LineValues) -> ArraySlice<UInt8>? {
    values.quoted("path") ?? (values.isTrue("exclusive") ? values.quoted("target") : nil)
  }

  /// Counts a complete file, or takes it back.
  /// - Returns: false for a line that does not say how long it is.
  private mutating func count(_ values: LineValues, _ change: Int) -> Bool {
    guard let length = values.integer("bytes") else { return false }
    completed += change
    bytes &+= length &* Int64(change)
    if values.text("verified") == TransferResult.Verification.unverified.rawValue {
      unverified += change
    }
    if countsAddresses, let url = values.text("url") {
      let number = addresses.number(of: url)
      addresses[number].complete = UInt32(Int(addresses[number].complete) + change)
    }
    return true
  }

  private mutating func fail(
    _ line: ManifestLine, _ code: String, _ number: Int, isConflict: Bool = false
  ) {
    failures.append(Failure(time: line.time, line: number, isConflict: isConflict))
    counts[code, default: 0] += 1
    if countsAddresses { addresses[addresses.number(of: line.url)].failed += 1 }
  }

  /// Of complete files with one place, the first has it, and those of its address.
  /// - Parameter lines: of places with one hash.
  private mutating func noteConflicts(of lines: [Int]) throws(TransferError) {
    var (rest, owner) = ([Int](), (place: ArraySlice<UInt8>?.none, url: ArraySlice<UInt8>?.none))
    for number in lines {
      let values = LineValues(try index.line(number))
      let (place, url) = (Self.place(values), values.quoted("url"))
      if owner.place == nil { owner = (place, url) }
      guard place == owner.place else {
        rest.append(number)
        continue
      }
      guard url != owner.url, let line = ManifestLine(values.line), count(values, -1) else {
        continue
      }
      fail(line, Self.conflict, number, isConflict: true)
    }
    if !rest.isEmpty { try noteConflicts(of: rest) }
  }

  private static let conflict = "name-conflict"

  /// Files that no line tells of: no run has come to them, or it was interrupted.
  var missing: Int { missingOfLists ?? max(0, files - completed - failures.count) }

  /// Compares it with the lists of the job: a task that never began has no manifest.
  mutating func compare(with lists: SplitPlan) throws {
    missingOfLists = try ShardRows.missing(of: lists, in: &addresses)
  }

  var isWhole: Bool { failures.isEmpty && missing == 0 }

  /// Passes the failed files, in the order of their ends, with the numbers of their lines.
  func forEachFailure(_ take: (ManifestLine, Int) throws -> Void) throws {
    for failure in failures {
      if let line = try line(of: failure) { try take(line, failure.line) }
    }
  }

  private func line(of failure: Failure) throws(TransferError) -> ManifestLine? {
    guard var line = ManifestLine(try index.line(failure.line)) else { return nil }
    if failure.isConflict {
      let place = line.path.map { "path, \($0)" } ?? "target, \(line.target)"
      line.message = "the file of another address has the same \(place)"
      (line.state, line.code, line.retryable) = (.failed, Self.conflict, false)
    }
    return line
  }

  /// A line of a failed file, by its number.
  func line(_ number: Int) throws(TransferError) -> ArraySlice<UInt8> { try index.line(number) }

  /// The codes, those of the most files first.
  private var codes: [(code: String, count: Int)] {
    counts.map { ($0.key, $0.value) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  /// `--failed` prints them all.
  private static let conflictsShown = 20

  func text() throws(TransferError) -> String {
    let shown = [
      (unverified, "of them unverified"), (failures.count, "failed"), (missing, "missing"),
    ].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
    let lines = codes.map { "\($0.count)  \($0.code)\n" }.joined()
    var names = ""
    for failure in failures.lazy.filter(\.isConflict).prefix(Self.conflictsShown) {
      guard let line = try line(of: failure) else { continue }
      names += Messages.shown("\(line.url): \(line.message ?? "")") + "\n"
    }
    let all = completed + failures.count + missing
    return "\(all) files: \(completed) complete (\(Units.bytes(bytes)))\(shown)\n" + lines + names
  }
}

extension ManifestSum: Encodable {
  private enum Key: String, CodingKey {
    case files, completed, unverified, failed, missing, bytes, codes
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(completed + failures.count + missing, forKey: .files)
    try object.encode(completed, forKey: .completed)
    try object.encode(unverified, forKey: .unverified)
    try object.encode(failures.count, forKey: .failed)
    try object.encode(missing, forKey: .missing)
    try object.encode(bytes, forKey: .bytes)
    try object.encode(counts, forKey: .codes)
  }
}
