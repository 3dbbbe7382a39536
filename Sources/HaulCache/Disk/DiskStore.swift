import FoundationEssentials
package import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

/// Blobs in a directory within bounds, for several processes at once. Its calls block.
///
/// Files and index change together: inside one transaction of the index, victims are unlinked and
/// the new file gets its name. A process that dies in between leaves files that the index does not
/// have, or rows without a file; the next `open` puts both right.
package final class DiskStore: Sendable {
  /// What was opened, and the index file it belongs to.
  private struct Opened {
    let index: BlobIndex
    let file: FileIdentity
  }

  package let directory: BlobDirectory
  /// Bytes of all blobs, at most.
  package let limit: Int64
  /// Seconds without use after which a blob is removed.
  package let maximumAge: Double
  /// How long a call waits for other processes.
  private let patience: Duration
  private let root: String
  private let opened = NIOLockedValueBox<Opened?>(nil)
  /// Uses that the index does not have yet.
  private let uses = NIOLockedValueBox<[String: Double]>([:])

  package init(
    directory: String, limit: Int64, maximumAge: Double, patience: Duration = .seconds(1)
  ) {
    root = directory
    self.patience = patience
    self.directory = BlobDirectory(path: directory + "/blobs")
    (self.limit, self.maximumAge) = (max(limit, 0), maximumAge)
  }

  convenience init(_ configuration: ResourceCacheConfiguration, at directory: String) {
    self.init(
      directory: directory, limit: configuration.diskLimit,
      maximumAge: configuration.maximumDiskAge / .seconds(1))
  }

  private var indexPath: String { root + "/index.sqlite" }

  /// Opens the directory, or creates it, and makes index and files agree.
  package func open(at now: Double) throws(TransferError) { _ = try index(at: now) }

  /// The index. It is opened again if another process has replaced a damaged one.
  private func index(at now: Double) throws(TransferError) -> BlobIndex {
    try opened.withLockedValue { opened in
      Result { () throws(TransferError) in try reopen(&opened, at: now) }
    }.get()
  }

  private func reopen(_ opened: inout Opened?, at now: Double) throws(TransferError) -> BlobIndex {
    if let opened, opened.file == FileIdentity(indexPath), !opened.index.isDamaged {
      return opened.index
    }
    try directory.create()
    let lock = try DirectoryLock(root + "/lock", patience: patience)
    let isDamaged = opened.map { $0.index.isDamaged && $0.file == FileIdentity(indexPath) }
    opened = nil
    let index = try openIndex(replacing: isDamaged == true)
    try withExtendedLifetime(lock) { () throws(TransferError) in try recover(index, at: now) }
    opened = FileIdentity(indexPath).map { Opened(index: index, file: $0) }
    return index
  }

  /// A damaged index is replaced by an empty one, which recovery fills.
  private func openIndex(replacing isDamaged: Bool) throws(TransferError) -> BlobIndex {
    let suffixes = ["-journal", "-wal", "-shm", ""]
    for suffix in suffixes { try RegularFile.require(indexPath + suffix) }
    try RegularFile.create(indexPath)
    if !isDamaged, let index = try BlobIndex.open(indexPath, patience: patience) { return index }
    for suffix in suffixes { _ = unlink(indexPath + suffix) }
    try RegularFile.create(indexPath)
    guard let index = try BlobIndex.open(indexPath, patience: patience) else {
      throw TransferError(.io, "cannot make a new index of the cache")
    }
    return index
  }

  /// Makes the index agree with the files, then both with the bounds.
  private func recover(_ index: BlobIndex, at now: Double) throws(TransferError) {
    try index.write { table in
      let (blobs, temporary) = try directory.names()
      try directory.removeAbandoned(temporary)
      let known = try table.names()
      let found = Set(blobs)
      for name in found.subtracting(known) {
        if let (size, head) = try directory.head(name) {
          let usedAt = min(head.response.answeredAt, now)
          try table.insert(BlobRow(name: name, head: head, size: size, usedAt: usedAt))
        } else {
          try directory.remove(name)
        }
      }
      for name in known.subtracting(found) { try table.remove(name) }
      try makeRoom(for: 0, in: table, at: now)
    }
  }
}

extension DiskStore {
  /// Stores a blob, in place of one of the same resource and selection. One that is larger than the
  /// limit, or lacks a digest that its head states, is not kept; then it returns false.
  @discardableResult
  package func store(_ blob: Blob, at now: Double) throws(TransferError) -> Bool {
    let index = try index(at: now)
    let start: Data
    do {
      start = try BlobFormat.start(of: blob)
    } catch {
      throw TransferError(.internal, "cannot encode the head of a cached resource")
    }
    let size = Int64(start.count + blob.body.count)
    let isKept = size <= limit && blob.hasStatedDigests
    let temporary = isKept ? try directory.write(start, blob.body) : nil
    try index.write { table in
      try flushUses(to: table)
      for row in try table.rows(of: blob.head.resource) where row.isReplaced(by: blob.head) {
        try remove(row, from: table)
      }
      guard let temporary else { return }
      try makeRoom(for: size, in: table, at: now)
      let name = BlobDirectory.name(blob.head)
      try table.insert(BlobRow(name: name, head: blob.head, size: size, usedAt: now))
      try temporary.publish(as: name, in: directory)
    }
    return isKept
  }

  /// The blob of a resource whose row and head satisfy `fits`. A damaged one is removed, never
  /// returned.
  /// - Parameter fits: gets the names of `Vary` and the digest of their values.
  package func find(
    _ resource: String, at now: Double, fits: ([String], String) -> Bool
  ) throws(TransferError) -> Blob? {
    let index = try index(at: now)
    // A file may disappear between reading the row and the file, when it is replaced.
    for _ in 0..<3 {
      let rows = try index.read { try $0.rows(of: resource) }
      // The copy that was selected by most fields is the one to use (RFC 9111, section 4.1).
      let fitting = rows.filter { fits($0.vary, $0.selection) }
      guard let row = fitting.max(by: { $0.vary.count < $1.vary.count }) else { return nil }
      // A byte more than there should be shows that it is another file.
      if let file = try directory.read(row.name, upTo: Int(row.size) + 1) {
        if let blob = BlobFormat.blob(file), blob.head.resource == resource,
          fits(blob.head.vary, blob.head.selection), blob.hasStatedDigests
        {
          noteUse(of: row, at: now)
          return blob
        }
      }
      try index.write { try remove(row, from: $0) }
    }
    return nil
  }

  /// Removes all blobs of a resource.
  package func remove(_ resource: String, at now: Double) throws(TransferError) {
    try index(at: now).write { table in
      for row in try table.rows(of: resource) { try remove(row, from: table) }
    }
  }

  package func removeAll(at now: Double) throws(TransferError) { try trim(to: 0, at: now) }

  /// Removes the least recently used blobs until the others have at most so many bytes.
  @discardableResult
  package func trim(to bytes: Int64, at now: Double) throws(TransferError) -> [BlobRow] {
    try index(at: now).write { table in
      try flushUses(to: table)
      return try evict(to: bytes, in: table)
    }
  }

  /// Removes the blobs whose rows satisfy `isRemoved`, and returns these rows.
  package func removeAll(
    at now: Double, where isRemoved: (BlobRow) throws(TransferError) -> Bool
  ) throws(TransferError) -> [BlobRow] {
    try index(at: now).write { table in
      try flushUses(to: table)
      let rows = try table.all().filter(isRemoved)
      for row in rows { try remove(row, from: table) }
      return rows
    }
  }

  /// Writes the uses that are only in memory to the index.
  package func noteUses(at now: Double) throws(TransferError) {
    guard uses.withLockedValue({ !$0.isEmpty }) else { return }
    try index(at: now).write { try flushUses(to: $0) }
  }

  /// All blobs, the last used first.
  package func rows(at now: Double) throws(TransferError) -> [BlobRow] {
    try index(at: now).read { try $0.all() }
  }

  /// Bytes of all blobs.
  package func size(at now: Double) throws(TransferError) -> Int64 {
    try index(at: now).read { try $0.total() }
  }
}

extension DiskStore {
  /// Evicts a tenth of the limit at once, so that not every store has to.
  private func makeRoom(for size: Int64, in table: BlobTable, at now: Double) throws {
    try table.clampUses(to: now)
    for row in try table.unused(since: now - maximumAge) { try remove(row, from: table) }
    guard try table.total() > limit - size else { return }
    _ = try evict(to: max(0, limit / 10 * 9 - size), in: table)
  }

  private func evict(to bytes: Int64, in table: BlobTable) throws -> [BlobRow] {
    var (total, removed) = (try table.total(), [BlobRow]())
    while total > bytes {
      let rows = try table.oldest(64)
      guard !rows.isEmpty else { break }
      for row in rows where total > bytes {
        try remove(row, from: table)
        total -= row.size
        removed.append(row)
      }
    }
    return removed
  }

  /// The file goes first: after a crash the bound holds.
  private func remove(_ row: BlobRow, from table: BlobTable) throws {
    try directory.remove(row.name)
    try table.remove(row.name)
  }

  /// A use is noted in memory and reaches the index with the next write, because each write would
  /// wait for other processes. Uses of the same minute do not count.
  private func noteUse(of row: BlobRow, at now: Double) {
    guard now - row.usedAt > 60 else { return }
    uses.withLockedValue { uses in if uses.count < 4096 { uses[row.name] = now } }
  }

  private func flushUses(to table: BlobTable) throws {
    let uses = uses.withLockedValue { uses in
      defer { uses = [:] }
      return uses
    }
    for (name, time) in uses { try table.use(name, at: time) }
  }
}

extension BlobRow {
  /// A response that varies by more fields shows that these would also have selected this one.
  fileprivate func isReplaced(by head: BlobHead) -> Bool {
    vary == head.vary
      ? selection == head.selection : Set(vary).isStrictSubset(of: head.vary)
  }
}
