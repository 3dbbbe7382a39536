import HaulCore
import HaulLibC

/// The faults of a simulated disk, other than crashes.
package struct SimulatedFaults: Sendable {
  /// Writes take only some of the bytes.
  package var shortWrites = false
  /// One in so many syncs fails, once; the next one finds nothing to write.
  package var syncFailsOneIn: Int?
  /// The most bytes of all files of a file system together.
  package var capacity: Int?
  package var supportsRenameWithoutReplacing = true
  package var supportsLinks = true
  package var supportsAllocation = true
  package var supportsAttributes = true
  /// Calls that always fail, by name, with this `errno`. That of a directory's sync is `fsyncdir`.
  package var errors: [String: Int32] = [:]
  /// The rights that every directory's default ACL gives to new files.
  package var defaultMode: UInt32?

  package init() {}
}

/// A directory: its present entries, those on the disk, and the changes between them.
struct SimulatedEntries {
  var current: [String: UInt64] = [:]
  var durable: [String: UInt64] = [:]
  /// Changes that no sync has made durable: each as names and their new inodes.
  var pending: [[String: UInt64?]] = []
  /// Files of other programs.
  var planted: Set<UInt64> = []
  /// Whether a process has removed or replaced one of those.
  var isPlantedFileLost = false

  mutating func change(_ assignments: [String: UInt64?]) {
    for (name, inode) in assignments {
      if let old = current[name], old != inode, planted.contains(old) { isPlantedFileLost = true }
      current[name] = inode
    }
    pending.append(assignments)
  }

  /// Adds another program's durable file; drops pending changes of its name.
  mutating func plant(_ inode: UInt64, as name: String) {
    for index in pending.indices { pending[index].removeValue(forKey: name) }
    current[name] = inode
    durable[name] = inode
    planted.insert(inode)
  }

  mutating func sync() {
    durable = current
    pending = []
  }

  /// Keeps the first changes, or any of them.
  mutating func losePower(_ random: inout SimulationRandom) {
    let inOrder = Bool.random(using: &random)
    let prefix = random.below(pending.count + 1)
    for (index, change) in pending.enumerated() {
      guard inOrder ? index < prefix : Bool.random(using: &random) else { continue }
      for (name, inode) in change { durable[name] = inode }
    }
    current = durable
    pending = []
  }
}

struct SimulatedWorld {
  var random: SimulationRandom
  var faults: SimulatedFaults
  var inodes: [UInt64: SimulatedInode] = [:]
  var directories: [String: SimulatedEntries] = [:]
  /// The file system of a directory; 1 by default.
  var devices: [String: UInt64] = [:]
  /// The most bytes of a file system, where it differs from `faults`; nil for no limit.
  var capacities: [UInt64: Int?] = [:]
  /// The contents of unmounted file systems, by the path of their directory.
  var unmounted: [String: (entries: SimulatedEntries, inodes: [UInt64: SimulatedInode])] = [:]
  var locks: [UInt64: UInt64] = [:]
  var boot = 1
  /// The last number of a handle, process or inode.
  var lastNumber: UInt64 = 0
  var living: Set<UInt64> = []
  var processOfHandle: [UInt64: UInt64] = [:]
  /// The number of changes until a process dies during the last of them.
  var changesUntilCrash: Int?
  var isDying = false
  /// The number of changes so far: the clock of the file system, with two changes per tick.
  var changes = 0

  var now: Double { Double(changes / 2) }

  mutating func touch(_ inode: UInt64) {
    let now = now
    inodes[inode]?.changed = now
  }

  mutating func number() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  mutating func kill(_ process: UInt64) {
    living.remove(process)
    locks = locks.filter { processOfHandle[$0.value] != process }
    changesUntilCrash = nil
  }

  /// Whether the process dies during the next change.
  mutating func diesNow() -> Bool {
    guard let left = changesUntilCrash else { return false }
    changesUntilCrash = left - 1
    return left <= 1
  }

  mutating func failsToSync() -> Bool {
    guard let often = faults.syncFailsOneIn else { return false }
    return random.oneIn(often)
  }

  func links(to inode: UInt64) -> Int {
    directories.values.reduce(0) { $0 + $1.current.values.count { $0 == inode } }
  }

  func device(_ path: String) -> UInt64 { devices[path] ?? 1 }

  /// The bytes by which files of a file system may still grow.
  func room(on device: UInt64) -> Int {
    guard let capacity = capacities[device] ?? faults.capacity else { return .max }
    let held = Set(
      directories.filter { self.device($0.key) == device }.values.flatMap(\.current.values))
    return max(0, capacity - held.reduce(0) { $0 + Int(inodes[$1]?.allocated.byteCount ?? 0) })
  }

  mutating func checkRoom(
    _ call: String, _ inode: UInt64, _ range: ByteRange
  ) throws(DiskError) {
    guard faults.capacity != nil || !capacities.isEmpty else { return }
    let growth = Int(inodes[inode]?.allocated.gaps(in: range).byteCount ?? range.length)
    let path = directories.first { $0.value.current.values.contains(inode) }?.key
    if growth > 0, growth > room(on: path.map(device) ?? 1) { throw DiskError(call, ENOSPC) }
  }

  mutating func unmount(_ path: String) {
    guard let entries = directories.removeValue(forKey: path) else { return }
    let inodes = inodes.filter { entries.current.values.contains($0.key) }
    for inode in inodes.keys { self.inodes[inode] = nil }
    unmounted[path] = (entries, inodes)
  }

  mutating func mount(_ path: String) {
    guard let back = unmounted.removeValue(forKey: path) else { return }
    directories[path] = back.entries
    inodes.merge(back.inodes) { $1 }
  }

  mutating func losePower() {
    boot += 1
    living = []
    locks = [:]
    processOfHandle = [:]
    changesUntilCrash = nil
    for path in directories.keys.sorted() { directories[path]?.losePower(&random) }
    let reachable = Set(directories.values.flatMap(\.current.values))
    inodes = inodes.filter { reachable.contains($0.key) }
    for inode in inodes.keys.sorted() { inodes[inode]?.losePower(&random) }
  }

  func status(_ inode: UInt64) -> FileStatus {
    let file = inodes[inode] ?? SimulatedInode()
    return FileStatus(
      kind: .regular, device: 1, inode: inode, size: Int64(file.cache.count), owner: 1000,
      mode: file.mode, links: UInt64(links(to: inode)), modified: file.modified,
      changed: file.changed,
      allocated: file.allocated.byteCount)
  }
}
