import FoundationEssentials
import HaulCore
import HaulLibC

/// Writes the shards into a directory of their own, which then gets its name: no task finds a part
/// of them.
struct ShardWriter {
  private let plan: SplitPlan
  private let rows: ShardRows
  private let shards: ShardPlan
  /// Those of a shard: nobody else may read more than in every list, which may have secrets.
  private let permissions: mode_t

  init(_ plan: SplitPlan, _ rows: ShardRows) {
    (self.plan, self.rows) = (plan, rows)
    permissions = rows.lists.reduce(0o666) { $0 & $1.permissions } | 0o600
    shards = ShardPlan(
      rows.rows, hosts: rows.hostCount, into: plan.count, by: plan.unit,
      maximumPerHost: plan.maximumPerHost)
  }

  /// - Throws: `io`, and `name-conflict` if the directory has something else.
  func run() throws {
    var directory = plan.directory
    while directory.endsWithSlash { directory.removeLast() }
    guard let name = directory.lastPathName, name != ".", name != ".." else {
      throw UsageError("-o \(plan.directory): give a directory by its name")
    }
    let (files, temporary) = (FileManager.default, directory + ".haul-split")
    let parent = directory.pathParts.directory
    try files.createDirectory(
      atPath: parent.isEmpty ? "." : parent, withIntermediateDirectories: true)
    // Who may read the shards finds them too.
    guard mkdir(temporary, permissions | permissions >> 2 & 0o111) == 0 else {
      guard errno == EEXIST else { throw Self.error(temporary, "cannot be made", errno) }
      throw TransferError(
        .inUse, "\(temporary) exists: another split writes it, or was stopped",
        advice: "remove it if none runs")
    }
    do {
      try writeShards(in: temporary)
      for list in rows.lists { try list.checkIsUnchanged() }
      guard rename(temporary, directory) != 0 else { return }
      let number = errno
      guard number == ENOTEMPTY || number == EEXIST else {
        throw Self.error(directory, "cannot be made", number)
      }
      guard files.contentsEqual(atPath: temporary, andPath: directory) else {
        throw TransferError(
          .nameConflict, "\(directory) is not empty, and does not have these shards",
          advice: "remove it, or name another one")
      }
      try files.removeItem(atPath: temporary)
    } catch {
      // What is left of it does no harm; the first error says more.
      try? files.removeItem(atPath: temporary)
      throw error
    }
  }

  private func writeShards(in directory: String) throws(TransferError) {
    // The rows of each shard in the order of the lists, from one array.
    var starts = [Int](repeating: 0, count: plan.count + 1)
    for shard in shards.shards { starts[shard + 1] += 1 }
    for shard in 0..<plan.count { starts[shard + 1] += starts[shard] }
    var (next, order) = (starts, [Int](repeating: 0, count: shards.shards.count))
    for (row, shard) in shards.shards.enumerated() {
      order[next[shard]] = row
      next[shard] += 1
    }
    for shard in 0..<plan.count {
      let path = "\(directory)/\(shard).\(plan.format.pathExtension)"
      try writeShard(order[starts[shard]..<starts[shard + 1]], to: path, shard)
    }
  }

  private func writeShard(
    _ indices: ArraySlice<Int>, to path: String, _ shard: Int
  ) throws(TransferError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
    guard descriptor >= 0 else { throw Self.error(path, "cannot be made", errno) }
    defer { _ = close(descriptor) }  // it was synced
    var text: [UInt8] = []
    if !rows.header.isEmpty {
      text = plan.maximumPerHost == nil ? rows.header : plan.format.header(rows.header)
      if rows.haveServer { text = plan.format.header(text, adding: .server) }
      text.append(0x0A)
    }
    for index in indices {
      text += try row(index, shard)
      text.append(0x0A)
      if text.count >= 1 << 20 { try Self.flush(&text, to: descriptor, path) }
    }
    try Self.flush(&text, to: descriptor, path)
    guard fsync(descriptor) == 0 else { throw Self.error(path, "cannot be written", errno) }
  }

  private func row(_ index: Int, _ shard: Int) throws(TransferError) -> [UInt8] {
    let place = rows.places[index]
    var bytes = try rows.bytes(at: place)
    if let limit = shards.limit(ofHost: rows.rows[index].host, inShard: shard) {
      bytes = plan.format.row(bytes, limitedTo: limit)
    }
    guard rows.haveServer, place.list >= 0 else { return bytes }
    return plan.format.row(bytes, of: rows.lists[Int(place.list)].server)
  }

  private static func flush(
    _ text: inout [UInt8], to descriptor: Int32, _ path: String
  ) throws(TransferError) {
    var rest = text[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw error(path, "cannot be written", errno) }
      rest = rest.dropFirst(count)
    }
    text.removeAll(keepingCapacity: true)
  }

  private static func error(_ path: String, _ what: String, _ number: Int32) -> TransferError {
    TransferError(.io, "\(path) \(what): \(SystemError.text(number))")
  }
}

extension InputTable.Format {
  /// The end of a list's name.
  fileprivate var pathExtension: String { self == .list ? "txt" : rawValue }
}
