import HaulCore
import HaulLibC

final class SimulatedDirectory: DiskDirectory {
  let disk: SimulatedDisk
  let path: String

  init(disk: SimulatedDisk, path: String) {
    self.disk = disk
    self.path = path
  }

  var mountID: UInt64 { 1 }

  private func entries<Value>(
    _ call: String, isChange: Bool = false,
    _ body: (inout SimulatedWorld, inout SimulatedEntries) throws(DiskError) -> Value
  ) throws(DiskError) -> Value {
    try disk.machine.perform(call, by: disk.process, isChange: isChange) {
      world throws(DiskError) in
      guard var entries = world.directories[path] else { throw DiskError(call, ENOENT) }
      let value = try body(&world, &entries)
      world.directories[path] = entries
      return value
    }
  }

  /// Directories have different inodes; only their paths distinguish them here.
  private var inode: UInt64 {
    path.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  func status() throws(DiskError) -> FileStatus {
    try entries("fstat") { world, _ in
      FileStatus(
        kind: .directory, device: world.device(path), inode: inode, size: 0, owner: 1000,
        mode: 0o700, links: 1,
        modified: 0)
    }
  }

  /// A simulated directory cannot be renamed; one that is unmounted fails.
  func isAtPath() throws(DiskError) -> Bool { try entries("stat") { _, _ in true } }

  func status(of name: String) throws(DiskError) -> FileStatus? {
    try entries("fstatat") { world, entries in entries.current[name].map { world.status($0) } }
  }

  func create(_ name: String) throws(DiskError) -> any DiskFile {
    let inode = try entries("openat", isChange: true) { world, entries throws(DiskError) in
      guard entries.current[name] == nil else { throw DiskError("openat", EEXIST) }
      let inode = world.number()
      world.inodes[inode] = SimulatedInode()
      world.touch(inode)
      entries.change([name: inode])
      return inode
    }
    return try handle(inode)
  }

  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile {
    let inode = try entries("openat") { _, entries throws(DiskError) in
      guard let inode = entries.current[name] else { throw DiskError("openat", ENOENT) }
      return inode
    }
    return try handle(inode)
  }

  private func handle(_ inode: UInt64) throws(DiskError) -> any DiskFile {
    let handle = try disk.machine.perform("openat", by: disk.process) { world in
      let handle = world.number()
      world.processOfHandle[handle] = disk.process
      return handle
    }
    return SimulatedFile(disk: disk, inode: inode, handle: handle)
  }

  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError) {
    try entries("rename", isChange: true) { world, entries throws(DiskError) in
      guard let inode = entries.current[name] else { throw DiskError("rename", ENOENT) }
      if !replacing {
        guard world.faults.supportsRenameWithoutReplacing else { throw DiskError("rename", EINVAL) }
        guard entries.current[newName] == nil else { throw DiskError("rename", EEXIST) }
      }
      world.touch(inode)
      entries.change([name: nil, newName: inode])
    }
  }

  func link(_ name: String, to newName: String) throws(DiskError) {
    try entries("linkat", isChange: true) { world, entries throws(DiskError) in
      guard world.faults.supportsLinks else { throw DiskError("linkat", EPERM) }
      guard let inode = entries.current[name] else { throw DiskError("linkat", ENOENT) }
      guard entries.current[newName] == nil else { throw DiskError("linkat", EEXIST) }
      world.touch(inode)
      entries.change([newName: inode])
    }
  }

  func unlink(_ name: String) throws(DiskError) {
    try entries("unlinkat", isChange: true) { _, entries throws(DiskError) in
      guard entries.current[name] != nil else { throw DiskError("unlinkat", ENOENT) }
      entries.change([name: nil])
    }
  }

  func sync() throws(DiskError) {
    try entries("fsyncdir", isChange: true) { world, entries throws(DiskError) in
      if world.failsToSync() { throw DiskError("fsync", EIO) }
      entries.sync()
    }
  }

  func defaultMode() throws(DiskError) -> UInt32? {
    try entries("fgetxattr") { world, _ in world.faults.defaultMode }
  }

  /// The simulated directory is always writable.
  func checkWritable() throws(DiskError) {}

  func availableBytes() throws(DiskError) -> Int64? {
    try entries("fstatvfs") { world, _ in Int64(clamping: world.room(on: world.device(path))) }
  }
}
