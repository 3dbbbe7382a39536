import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The rows that `haul split` shares out. Of each only the place is held: lists may be longer than
/// the memory.
struct ShardRows {
  /// Where a row is: in a list or, without lists, among the addresses of a manifest.
  struct Place {
    let list: Int32
    let length: Int32
    let offset: Int64
  }

  private let plan: SplitPlan
  private(set) var places: [Place] = []
  private(set) var rows: [ShardPlan.Row] = []
  /// The names of the columns, as they are written.
  private(set) var header: [UInt8] = []
  private(set) var lists: [SplitList] = []
  /// The rows of the failed addresses, without lists.
  private(set) var failures: [[UInt8]] = []
  private var hosts: [String: Int] = [:]
  /// The rows that were read, to leave out those that are given again.
  private var given: Set<ManifestLine.ID> = []
  private var repeats = 0
  /// The address that was the first with each path, below the directory of all.
  private var paths: [ManifestLine.ID: ManifestLine.ID] = [:]
  private var shared: (count: Int, example: String) = (0, "")
  /// The address of each row, and how many different rows an address has; for manifests.
  private var addresses: [ManifestLine.ID] = []
  private var seen: Set<ManifestLine.ID> = []
  private var counts: [ManifestLine.ID: Int] = [:]

  private var takesShards = false
  /// The columns that have a meaning.
  private let meanings: Set<String>

  init(_ plan: SplitPlan) {
    self.plan = plan
    meanings = Set(InputTable.Meaning.allCases.map { plan.columns[$0] ?? $0.rawValue })
  }

  var isEmpty: Bool { rows.isEmpty }
  var hostCount: Int { hosts.count }

  /// How many files of the lists the manifests do not tell of. The lists may be shards.
  static func missing(
    of plan: SplitPlan, in sum: ManifestSum
  ) throws(UsageError) -> Int {
    var rows = ShardRows(plan)
    rows.takesShards = true
    for path in plan.inputs { try rows.read(path) }
    var failed: [ManifestLine.ID: Int] = [:]
    for line in sum.failures { failed[ManifestLine.ID(hashing: line.url), default: 0] += 1 }
    return rows.counts.reduce(0) { missing, of in
      missing + max(0, of.value - sum.complete(at: of.key) - (failed[of.key] ?? 0))
    }
  }

  /// - Returns: notes for the user.
  /// - Throws: `UsageError` for a list that cannot be read, `TransferError` for a manifest.
  mutating func read() throws -> [String] {
    var sum = ManifestSum(countingAddresses: !plan.inputs.isEmpty)
    for path in plan.manifests { try sum.add(path) }
    guard !plan.inputs.isEmpty else { return try take(failuresOf: sum) }
    for path in plan.inputs { try read(path) }
    guard !rows.isEmpty else { throw UsageError("\(plan.inputs[0]): it contains no URL") }
    if !plan.manifests.isEmpty { leaveOut(completeIn: sum) }
    var notes = repeats > 0 ? ["\(repeats) rows are given twice and are split once"] : []
    if shared.count > 0 {
      notes.append(
        "rows with the file name of another address: \(shared.count), such as \(shared.example); "
          + "in one directory, --if-exists rename has both files, and update (the default) if no "
          + "out names them")
    }
    return notes
  }

  private mutating func notePath(of entry: InputList.Entry, at url: String, _ name: String) {
    let last = entry.out ?? name
    let path = entry.dir.map { $0.appendingPath(last) } ?? last
    let address = ManifestLine.ID(hashing: url)
    guard let first = paths.updateValue(address, forKey: ManifestLine.ID(hashing: path)),
      first != address
    else { return }
    shared = (shared.count + 1, shared.count == 0 ? path : shared.example)
  }

  private mutating func take(failuresOf sum: ManifestSum) throws -> [String] {
    for failure in sum.failures {
      guard !failure.url.hasBytes("***"), let url = try? ResourceURL(failure.url) else {
        throw UsageError(
          "the manifests leave out secrets, such as those of \(failure.url); give the lists too")
      }
      let row = try JSONLines.line(of: ["url": url.absoluteString]).utf8.dropLast()
      add(
        url.origin.authority, size: nil,
        at: Place(list: -1, length: 0, offset: Int64(failures.count)))
      failures.append(Array(row))
    }
    var notes: [String] = []
    if !failures.isEmpty {
      notes.append(
        "the rows have the addresses alone, without out, dir, checksum, headers and credentials; give the lists "
          + "too to have them")
    }
    if sum.missing > 0 {
      notes.append(
        "files missing in the manifests: \(sum.missing); give the lists too to have them")
    }
    return notes
  }

  private mutating func read(_ path: String) throws(UsageError) {
    let list = try SplitList(path)
    let number = Int32(lists.count)
    lists.append(list)
    var scanner = RowScanner(plan.format)
    var needsHeader = [.csv, .tsv].contains(plan.format)
    try list.forEachLine { (line) throws(UsageError) in
      try take(scanner.take(line), of: path, number, &needsHeader)
    }
    try take(scanner.end(), of: path, number, &needsHeader)
  }

  private mutating func take(
    _ row: RowScanner.Row?, of path: String, _ list: Int32, _ needsHeader: inout Bool
  ) throws(UsageError) {
    guard let row else { return }
    guard needsHeader else { return try take(row, of: path, list) }
    needsHeader = false
    guard header.isEmpty || header == row.bytes else {
      throw UsageError("\(path): its columns are not those of \(plan.inputs[0])")
    }
    header = row.bytes
  }

  private mutating func take(
    _ row: RowScanner.Row, of path: String, _ list: Int32
  ) throws(UsageError) {
    var line = row.line
    // The table that is read has this row alone, below the names of the columns.
    let above = header.isEmpty ? 0 : header.count { $0 == 0x0A } + 1
    do throws(UsageError) {
      guard let text = String(validating: row.bytes, as: UTF8.self),
        let names = String(validating: header, as: UTF8.self)
      else { throw UsageError("it is not UTF-8 text") }
      let entries: [InputList.Entry]
      do {
        let table = names.isEmpty ? text : "\(names)\n\(text)"
        entries = try InputTable(table, as: plan.format, columns: plan.columns).entries
      } catch {
        line = error.line > above ? row.line + error.line - above - 1 : error.line
        throw UsageError(error.message)
      }
      guard let entry = entries.first else { return }
      line = row.line + entry.line - above - 1
      guard entries.count == 1 else { throw UsageError("a line ends with a carriage return alone") }
      guard takesShards || entry.maximumPerHost == nil else {
        throw UsageError("it has max-per-host, as a shard has: split the lists that it is made of")
      }
      guard isNew(entry) else { return }
      let host = try host(of: entry)
      let place = Place(list: list, length: Int32(row.bytes.count), offset: row.offset)
      add(host, size: try size(of: entry), at: place)
    } catch {
      throw UsageError("\(path): line \(line): \(error.message)")
    }
  }

  /// The host of an address, or the bucket of an object.
  private mutating func host(of entry: InputList.Entry) throws(UsageError) -> String {
    guard PutPlan.isS3(entry.address) else {
      let url = try AddressArgument.url(entry.address)
      if !plan.manifests.isEmpty { note(url, entry) }
      notePath(of: entry, at: url.absoluteString, FileName(url).text)
      return url.origin.authority
    }
    guard plan.manifests.isEmpty else {
      throw UsageError("manifests have other addresses for objects of s3://")
    }
    let (bucket, key) = PutPlan.s3Parts(entry.address)
    guard !bucket.isEmpty, !key.isEmpty, !key.hasByteSuffix("/") else {
      throw UsageError("that is no object; name each one: s3://bucket/key")
    }
    notePath(of: entry, at: entry.address, key.lastPathName ?? key)
    return PutPlan.s3Prefix + bucket
  }

  private func size(of entry: InputList.Entry) throws(UsageError) -> Int64? {
    guard let text = entry.size, let size = Int64(text), size >= 0 else {
      guard plan.unit == .bytes else { return nil }
      throw UsageError("--by bytes: there is no number of bytes in the column 'size'")
    }
    return size
  }

  private mutating func add(_ host: String, size: Int64?, at place: Place) {
    let number = hosts[host] ?? hosts.count
    if number == hosts.count { hosts[host] = number }
    places.append(place)
    rows.append(ShardPlan.Row(host: number, size: size))
  }

  /// Whether a row is not as one before. Columns without a meaning count: a template of `get -o`
  /// may name them. So do digests and fields: `get` refuses rows that differ in these alone.
  private mutating func isNew(_ entry: InputList.Entry) -> Bool {
    let address = (try? ResourceURL(entry.address))?.absoluteString ?? entry.address
    let others = entry.columns.filter { !meanings.contains($0.key) }.sorted { $0.key < $1.key }
    let texts =
      [address, entry.out ?? "", entry.dir ?? ""]
      + (entry.checksums + entry.headers).map(\.text) + entry.credentials.map { $0?.text ?? "" }
      + others.flatMap { [$0.key, $0.value] }
    // With their lengths: a value may have any byte.
    let row = texts.map { "\($0.utf8.count)\n\($0)" }.joined()
    let isNew = given.insert(ManifestLine.ID(hashing: row)).inserted
    if !isNew { repeats += 1 }
    return isNew
  }

  /// A manifest has addresses as they are shown: several rows may have the same.
  private mutating func note(_ url: ResourceURL, _ entry: InputList.Entry) {
    let address = ManifestLine.ID(hashing: url.redacted)
    addresses.append(address)
    let row = "\(url.absoluteString)\n\(entry.out ?? "")\n\(entry.dir ?? "")"
    if seen.insert(ManifestLine.ID(hashing: row)).inserted { counts[address, default: 0] += 1 }
  }

  /// Leaves out an address if all its files are complete: which row made which file is not known.
  private mutating func leaveOut(completeIn sum: ManifestSum) {
    let failed = Set(sum.failures.map { ManifestLine.ID(hashing: $0.url) })
    let left = addresses.indices.filter { index in
      let address = addresses[index]
      return failed.contains(address) || sum.complete(at: address) < counts[address] ?? 0
    }
    (places, rows) = (left.map { places[$0] }, left.map { rows[$0] })
  }
}

/// A list that is read twice: first for its rows, then for their bytes.
final class SplitList {
  private let path: String
  private let descriptor: Int32
  private let status: stat
  /// Its permission bits.
  var permissions: mode_t { status.st_mode & 0o777 }

  init(_ path: String) throws(UsageError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw UsageError("\(path): \(SystemError.text(errno))") }
    var status = stat()
    let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    self.status = status
    guard isRegular else {
      throw UsageError("\(path): it is no regular file; save the list to one, to be read twice")
    }
  }

  deinit { _ = close(descriptor) }  // nothing was written

  /// Passes each line to `take`, also the last one if it has no line break.
  func forEachLine(
    _ take: (ArraySlice<UInt8>) throws(UsageError) -> Void
  ) throws(UsageError) {
    let rest = try FileLines.forEach(
      of: descriptor,
      failure: { UsageError("\(path): it cannot be read: \(SystemError.text($0))") }, take)
    if !rest.isEmpty { try take(rest[...]) }
  }

  /// - Throws: `io`.
  func bytes(at place: ShardRows.Place) throws(TransferError) -> [UInt8] {
    let bytes = FileLines.bytes(of: descriptor, place.offset, Int(place.length))
    guard let bytes, bytes.count == place.length else { throw changed }
    return bytes
  }

  /// - Throws: `io` if it is not the same as when it was opened.
  func checkIsUnchanged() throws(TransferError) {
    var now = stat()
    guard fstat(descriptor, &now) == 0, now.st_size == status.st_size,
      now.modification == status.modification
    else { throw changed }
  }

  private var changed: TransferError {
    TransferError(.io, "\(path) changed while it was split", advice: "split it again")
  }
}

extension stat {
  /// When its bytes changed, in nanoseconds.
  var modification: Int64 {
    #if canImport(Glibc)
      let time = st_mtim
    #else
      let time = st_mtimespec
    #endif
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
