import HaulCore
import HaulLibC

/// The rows that `haul split` shares out. Of each only the place is held: lists may be longer than
/// the memory.
struct ShardRows {
  /// Where a row is: in a list or, without lists, in the line of a failed file.
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
  /// What the manifests say; nil without them.
  private var sum: ManifestSum?
  private var hosts: [String: Int] = [:]
  /// The addresses of the manifests and of the rows that were read.
  private var addresses = AddressTable()
  /// The number of the row that was read last.
  private var number = 0
  /// The rows that are given again.
  private var repeated = IndexBitSet()
  private var repeats = 0
  /// Whether the rows are known, and only those that are left are taken.
  private var isReadAgain = false
  /// Whether an address was taken for complete, of which more rows followed.
  private var needsOthers = false
  /// The address that was the first with each path, below the directory of all.
  private var paths: [UInt64: Int] = [:]
  private var shared: (count: Int, example: String) = (0, "")
  /// Whether the rows are only counted; the lists may be shards.
  private let onlyCounts: Bool
  private let table: InputTable
  /// The columns that have a meaning.
  private let meanings: Set<String>

  init(_ plan: SplitPlan, onlyCounting onlyCounts: Bool = false) {
    (self.plan, self.onlyCounts) = (plan, onlyCounts)
    table = InputTable(as: plan.format, columns: plan.columns)
    meanings = Set(InputTable.Meaning.allCases.map { plan.columns[$0] ?? $0.rawValue })
  }

  var isEmpty: Bool { rows.isEmpty }
  var hostCount: Int { hosts.count }
  /// Whether a list is that of a server: its rows say so in the shards.
  var haveServer: Bool { lists.contains { $0.server != nil } }

  /// How many files of the lists the manifests do not tell of.
  /// - Parameter addresses: those of the manifests; taken, as two copies may be large.
  static func missing(
    of plan: SplitPlan, in addresses: inout AddressTable
  ) throws(UsageError) -> Int {
    var rows = ShardRows(plan, onlyCounting: true)
    swap(&rows.addresses, &addresses)
    for input in plan.inputs { try rows.read(input) }
    return rows.addresses.addresses.reduce(0) { $0 + $1.missing }
  }

  /// - Returns: notes for the user.
  /// - Throws: `UsageError` for a list that cannot be read, `TransferError` for a manifest.
  mutating func read() throws -> [String] {
    if !plan.manifests.isEmpty {
      guard !plan.inputs.isEmpty else {
        return try take(failuresOf: ManifestSum(of: plan.manifests))
      }
      addresses = try ManifestSum(of: plan.manifests, countingAddresses: true).addresses
    }
    for input in plan.inputs { try read(input) }
    guard number > 0 else { throw UsageError("\(lists[0].name): it contains no URL") }
    if needsOthers {
      (places, rows, hosts, paths, shared) = ([], [], [:], [:], (0, ""))
      (number, isReadAgain) = (0, true)
      for (index, list) in lists.enumerated() { try read(list, Int32(index)) }
    }
    var notes = repeats > 0 ? ["\(repeats) rows are given twice and are split once"] : []
    if shared.count > 0 {
      notes.append(
        "rows with the file name of another address: \(shared.count), such as \(shared.example); "
          + "in one directory, --if-exists rename has both files, and update (the default) if no "
          + "out names them")
    }
    return notes
  }

  private mutating func notePath(_ entry: InputList.Entry, _ name: String, of address: Int) {
    let last = entry.out ?? name
    let path = entry.dir.map { $0.appendingPath(last) } ?? last
    let first = paths.updateValue(address, forKey: AddressTable.hash { $0.combine(text: path) })
    guard let first, first != address else { return }
    shared = (shared.count + 1, shared.count == 0 ? path : shared.example)
  }

  private mutating func take(failuresOf sum: ManifestSum) throws -> [String] {
    try sum.forEachFailure { failure, line in
      guard !failure.url.hasBytes("***"), let url = try? ResourceURL(failure.url) else {
        throw UsageError(
          "the manifests leave out secrets, such as those of \(failure.url); give the lists too")
      }
      add(url.origin.authority, size: nil, at: Place(list: -1, length: 0, offset: Int64(line)))
    }
    self.sum = sum
    var notes: [String] = []
    if !rows.isEmpty {
      notes.append(
        "the rows have the addresses alone, without out, dir, checksum, headers and credentials; "
          + "give the lists too to have them")
    }
    if sum.missing > 0 {
      notes.append(
        "files missing in the manifests: \(sum.missing); give the lists too to have them")
    }
    return notes
  }

  /// A row, as it is written.
  func bytes(at place: Place) throws(TransferError) -> [UInt8] {
    if place.list >= 0 { return try lists[Int(place.list)].bytes(at: place) }
    let line = try sum?.line(Int(place.offset)) ?? []
    guard let address = LineValues(line).text("url"), let url = try? ResourceURL(address),
      let row = try? JSONLines.line(of: ["url": url.absoluteString])
    else { throw TransferError(.internal, "a line of a manifest has no address") }
    return Array(row.utf8.dropLast())
  }

  private mutating func read(_ input: SplitPlan.Input) throws(UsageError) {
    let list = try SplitList(input.place, input.text)
    lists.append(list)
    try read(list, Int32(lists.count - 1))
  }

  private mutating func read(_ list: SplitList, _ number: Int32) throws(UsageError) {
    var scanner = RowScanner(plan.format)
    var needsHeader = [.csv, .tsv].contains(plan.format)
    try list.forEachLine { (line) throws(UsageError) in
      try take(scanner.take(line), of: list.name, number, &needsHeader)
    }
    try take(scanner.end(), of: list.name, number, &needsHeader)
  }

  private mutating func take(
    _ row: RowScanner.Row?, of path: String, _ list: Int32, _ needsHeader: inout Bool
  ) throws(UsageError) {
    guard let row else { return }
    guard needsHeader else { return try take(row, of: path, list) }
    needsHeader = false
    guard header.isEmpty || header == row.bytes else {
      throw UsageError("\(path): its columns are not those of \(lists[0].name)")
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
      var table = table
      do {
        _ = try table.take(names.isEmpty ? text : "\(names)\n\(text)", isLast: true)  // all of it
      } catch {
        line = error.line > above ? row.line + error.line - above - 1 : error.line
        throw UsageError(error.message)
      }
      guard let entry = table.entries.first else { return }
      line = row.line + entry.line - above - 1
      guard table.entries.count == 1 else {
        throw UsageError("a line ends with a carriage return alone")
      }
      guard onlyCounts || entry.maximumPerHost == nil else {
        throw UsageError("it has max-per-host, as a shard has: split the lists that it is made of")
      }
      guard onlyCounts || entry.server == nil else {
        throw UsageError("it has list-server, as a shard has: split the lists that it is made of")
      }
      let source = try Source(of: entry, withManifests: !plan.manifests.isEmpty)
      try lists[Int(list)].server?.check(entry, at: source.url)
      let address = addresses.number(of: source.shown)
      guard isLeft(entry, source, address) else { return }
      let place = Place(list: list, length: Int32(row.bytes.count), offset: row.offset)
      add(source.host, size: try size(of: entry), at: place)
      notePath(entry, source.name, of: addresses.number(of: source.address))
    } catch {
      throw UsageError("\(path): line \(line): \(error.message)")
    }
  }

  /// Where a row comes from.
  private struct Source {
    let address: String
    /// As manifests have it: several rows may have the same.
    let shown: String
    /// The host of an address, or the bucket of an object.
    let host: String
    /// Nil for an object.
    let url: ResourceURL?

    var name: String { url.map { FileName($0).text } ?? address.lastPathName ?? address }

    init(of entry: InputList.Entry, withManifests: Bool) throws(UsageError) {
      guard PutPlan.isS3(entry.address) else {
        let url = try AddressArgument.url(entry.address)
        address = url.absoluteString
        (shown, host) = (withManifests ? url.redacted : address, url.origin.authority)
        self.url = url
        return
      }
      guard !withManifests else {
        throw UsageError("manifests have other addresses for objects of s3://")
      }
      let (bucket, key) = PutPlan.s3Parts(entry.address)
      guard !bucket.isEmpty, !key.isEmpty, !key.hasByteSuffix("/") else {
        throw UsageError("that is no object; name each one: s3://bucket/key")
      }
      (address, shown, host) = (entry.address, entry.address, PutPlan.s3Prefix + bucket)
      url = nil
    }
  }

  /// Whether a row is split: it is not as one before, and the manifests do not have all files of
  /// its address as complete.
  private mutating func isLeft(_ entry: InputList.Entry, _ source: Source, _ address: Int) -> Bool {
    number += 1
    if isReadAgain { return !repeated.contains(number) && !addresses[address].isComplete }
    guard isNew(entry, source, address) else {
      repeated.insert(number)
      repeats += 1
      return false
    }
    let isComplete = addresses[address].isComplete
    if !isComplete, addresses[address].complete > 0, addresses[address].failed == 0 {
      needsOthers = true
    }
    return !isComplete && !onlyCounts
  }

  /// Whether a row is not as one before. Columns without a meaning count: a template of `get -o`
  /// may name them. So do digests and fields: `get` refuses rows that differ in these alone.
  private mutating func isNew(
    _ entry: InputList.Entry, _ source: Source, _ address: Int
  ) -> Bool {
    let file = AddressTable.hash { hasher in
      for text in [source.address, entry.out ?? "", entry.dir ?? ""] { hasher.combine(text: text) }
    }
    let row = AddressTable.hash { hasher in
      hasher.combine(file)
      hasher.combine(entry.checksums.count)
      for option in entry.checksums + entry.headers { hasher.combine(text: option.text) }
      for option in entry.credentials { hasher.combine(text: option?.text ?? "") }
      for (name, value) in entry.columns.sorted(by: { $0.key < $1.key })
      where !meanings.contains(name) && !value.isEmpty {
        hasher.combine(text: name)
        hasher.combine(text: value)
      }
    }
    return addresses.insert(row: row, of: file, at: address)
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
}

/// A list that is read twice: first for its rows, then for their bytes.
final class SplitList {
  /// Its path, or the address without what may be a secret.
  let name: String
  /// What a server has sent; nil for a file of this machine.
  private let text: ListText?
  private var descriptor: Int32 = -1
  private var status = stat()
  /// Its permission bits.
  var permissions: mode_t { text == nil ? status.st_mode & 0o777 : 0o600 }
  /// Which server has it.
  var server: ListServer? { text?.server }

  init(_ place: String, _ text: ListText?) throws(UsageError) {
    (name, self.text) = (ListServer.path(of: place), text)
    guard text == nil else { return }
    descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw UsageError("\(name): \(SystemError.text(errno))") }
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw UsageError("\(name): it is no regular file; save the list to one, to be read twice")
    }
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }  // nothing was written

  private func read(_ offset: Int64, _ count: Int) throws(UsageError) -> [UInt8] {
    if let text { return try text.read(offset, count) }
    guard let bytes = FileLines.bytes(of: descriptor, offset, count) else {
      throw UsageError("\(name): it cannot be read: \(SystemError.text(errno))")
    }
    return bytes
  }

  /// Passes each line to `take`, from the first one, also the last one if it has no line break.
  func forEachLine(
    _ take: (ArraySlice<UInt8>) throws(UsageError) -> Void
  ) throws(UsageError) {
    let rest = try FileLines.forEach(
      reading: { (offset, count) throws(UsageError) in try read(offset, count) }, take)
    if !rest.isEmpty { try take(rest[...]) }
  }

  /// - Throws: `io`.
  func bytes(at place: ShardRows.Place) throws(TransferError) -> [UInt8] {
    guard let bytes = try? read(place.offset, Int(place.length)), bytes.count == place.length else {
      throw changed
    }
    return bytes
  }

  /// - Throws: `io` if it is not the same as when it was opened.
  func checkIsUnchanged() throws(TransferError) {
    guard text == nil else { return }
    var now = stat()
    guard fstat(descriptor, &now) == 0, now.st_size == status.st_size,
      now.modification == status.modification
    else { throw changed }
  }

  private var changed: TransferError {
    TransferError(.io, "\(name) changed while it was split", advice: "split it again")
  }
}

extension stat {
  /// When its bytes changed, in nanoseconds.
  var modification: Int64 {
    Int64(st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(st_mtim.tv_nsec)
  }
}
