import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

final class SimulatedFile: DiskFile {
  let disk: SimulatedDisk
  let inode: UInt64
  let handle: UInt64
  private let isClosed = NIOLockedValueBox(false)

  init(disk: SimulatedDisk, inode: UInt64, handle: UInt64) {
    self.disk = disk
    self.inode = inode
    self.handle = handle
  }

  private func file<Value>(
    _ call: String, isChange: Bool = false,
    _ body: (inout SimulatedWorld, inout SimulatedInode) throws(DiskError) -> Value
  ) throws(DiskError) -> Value {
    if isClosed.withLockedValue({ $0 }) { throw DiskError(call, EBADF) }
    return try disk.machine.perform(call, by: disk.process, isChange: isChange) {
      world throws(DiskError) in
      // Moved out and back, so that its bytes are not copied; also moved back after a failure.
      guard var file = world.inodes[inode] else { throw DiskError(call, EIO) }
      world.inodes[inode] = SimulatedInode()
      if isChange, call != "fsync" { file.changed = world.now }
      defer { world.inodes[inode] = file }
      return try body(&world, &file)
    }
  }

  func status() throws(DiskError) -> FileStatus {
    if isClosed.withLockedValue({ $0 }) { throw DiskError("fstat", EBADF) }
    return try disk.machine.perform("fstat", by: disk.process) { world throws(DiskError) in
      guard world.inodes[inode] != nil else { throw DiskError("fstat", EIO) }
      return world.status(inode)
    }
  }

  func size() throws(DiskError) -> Int64 {
    try file("statx") { _, file in Int64(file.cache.count) }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try checkRoom("pwrite", offset..<(offset + Int64(bytes.count)))
    return try file("pwrite", isChange: true) { world, file in
      var count = bytes.count
      if count > 1, world.isDying || (world.faults.shortWrites && world.random.oneIn(3)) {
        count = 1 + world.random.below(count)
      }
      file.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)), at: Int(offset))
      return count
    }
  }

  private func checkRoom(_ call: String, _ range: ByteRange) throws(DiskError) {
    try disk.machine.perform(call, by: disk.process) { world throws(DiskError) in
      try world.checkRoom(call, inode, range)
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try file("pread") { _, file in
      let start = min(Int(offset), file.cache.count)
      let end = min(start + buffer.count, file.cache.count)
      file.cache.withUnsafeBytes { source in
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<end]))
      }
      return end - start
    }
  }

  func truncate(to size: Int64) throws(DiskError) {
    try file("ftruncate", isChange: true) { _, file in file.truncate(to: Int(size)) }
  }

  func allocate(_ range: ByteRange) throws(DiskError) {
    try checkRoom("fallocate", range)
    try file("fallocate", isChange: true) { world, file throws(DiskError) in
      guard world.faults.supportsAllocation else { throw DiskError("fallocate", EOPNOTSUPP) }
      file.allocate(range)
    }
  }

  func deallocate(_ range: ByteRange) throws(DiskError) {
    try file("fallocate", isChange: true) { world, file throws(DiskError) in
      guard world.faults.supportsAllocation else { throw DiskError("fallocate", EOPNOTSUPP) }
      file.deallocate(range)
    }
  }

  func startReading(_ range: ByteRange) {}
  func startWriteback(_ range: ByteRange) {}

  func syncData() throws(DiskError) { try sync() }

  func sync() throws(DiskError) {
    try file("fsync", isChange: true) { world, file throws(DiskError) in
      if world.failsToSync() {
        file.failSync()
        throw DiskError("fsync", EIO)
      }
      file.sync()
    }
  }

  /// All files have one owner.
  func setOwner(_ user: UInt32) throws(DiskError) { throw DiskError("fchown", EPERM) }

  /// All files have one owner and one group, and no list.
  func takeAccess(of former: any DiskFile) throws(DiskError) {}

  func flush() throws(DiskError) { try file("close") { _, _ in } }

  func setMode(_ mode: UInt32) throws(DiskError) {
    try file("fchmod", isChange: true) { _, file in file.mode = mode }
  }

  func setModified(_ seconds: Double) throws(DiskError) {
    try file("futimens", isChange: true) { _, file in file.modified = seconds }
  }

  func attribute() throws(DiskError) -> [UInt8]? {
    try file("fgetxattr") { world, file throws(DiskError) in
      guard world.faults.supportsAttributes else { throw DiskError("fgetxattr", EOPNOTSUPP) }
      return file.attribute
    }
  }

  func setAttribute(_ value: [UInt8]) throws(DiskError) {
    try file("fsetxattr", isChange: true) { world, file throws(DiskError) in
      guard world.faults.supportsAttributes else { throw DiskError("fsetxattr", EOPNOTSUPP) }
      file.attribute = value
    }
  }

  func tryLock() throws(DiskError) -> Bool {
    try file("flock") { world, _ in
      if let holder = world.locks[inode], holder != handle { return false }
      world.locks[inode] = handle
      return true
    }
  }

  func close() {
    let wasClosed = isClosed.withLockedValue { closed in
      defer { closed = true }
      return closed
    }
    guard !wasClosed else { return }
    disk.machine.world.withLockedValue { world in
      if world.locks[inode] == handle { world.locks[inode] = nil }
    }
  }
}
