import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

/// An open file of this machine.
final class POSIXFile: DiskFile {
  private let descriptor: DescriptorBox
  /// Held for large writes: the kernel also allows only one writer at a time, but lets the others
  /// spin.
  private let writeLock = NIOLock()
  /// A shorter write ends before a waiting thread is asleep.
  private static let lockThreshold = 128 << 10

  init(_ descriptor: DescriptorBox) { self.descriptor = descriptor }

  func status() throws(DiskError) -> FileStatus {
    var status = stat()
    _ = try descriptor.call("fstat") { fstat($0, &status) }
    return FileStatus(status)
  }

  func size() throws(DiskError) -> Int64 {
    try descriptor.call("statx") { PlatformCalls.size($0) }
  }

  func startReading(_ range: ByteRange) {
    // Only a hint; a closed file needs none.
    _ = try? descriptor.call("posix_fadvise") { number in
      PlatformCalls.startReading(number, range)
      return 0
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    guard bytes.count >= Self.lockThreshold else { return try put(bytes, at: offset) }
    writeLock.lock()
    defer { writeLock.unlock() }
    return try put(bytes, at: offset)
  }

  private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try descriptor.call("pwrite") { pwrite($0, bytes.baseAddress, bytes.count, off_t(offset)) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try descriptor.call("pread") { pread($0, buffer.baseAddress, buffer.count, off_t(offset)) }
  }

  func truncate(to size: Int64) throws(DiskError) {
    _ = try descriptor.call("ftruncate") { ftruncate($0, off_t(size)) }
  }

  func allocate(_ range: ByteRange) throws(DiskError) {
    _ = try descriptor.call("fallocate") { PlatformCalls.allocate($0, range) }
  }

  func deallocate(_ range: ByteRange) throws(DiskError) {
    _ = try descriptor.call("fallocate") { PlatformCalls.deallocate($0, range) }
  }

  func startWriteback(_ range: ByteRange) {
    // Only a hint; a closed file needs none.
    _ = try? descriptor.call("sync_file_range") { number in
      PlatformCalls.startWriteback(number, range)
      return 0
    }
  }

  func syncData() throws(DiskError) {
    try syncOnce("fdatasync") { PlatformCalls.syncData($0) }
  }

  func sync() throws(DiskError) {
    try syncOnce("fsync") { fsync($0) }
  }

  /// Not repeated after EINTR: a second sync may succeed for pages that the first one lost.
  private func syncOnce(_ name: String, _ body: (Int32) -> Int32) throws(DiskError) {
    var failure: Int32 = 0
    _ = try descriptor.call(name) { number in
      failure = body(number) == 0 ? 0 : errno
      return 0
    }
    if failure != 0 { throw DiskError(name, failure) }
  }

  func takeAccess(of former: any DiskFile) throws(DiskError) {
    guard let former = former as? POSIXFile else { throw DiskError("fsetxattr", EXDEV) }
    _ = try former.descriptor.call("fgetxattr") { other in
      (try? descriptor.call("fsetxattr") { PlatformCalls.takeAccess($0, of: other) }) ?? -1
    }
  }

  /// Closes a copy of the descriptor: that reports the same errors, and the lock stays.
  func flush() throws(DiskError) {
    let copy = try descriptor.call("dup") { PlatformCalls.duplicate($0) }
    // Not repeated after EINTR: the copy is closed, whatever this returns.
    guard HaulLibC.close(copy) == 0 else { throw DiskError("close", errno) }
  }

  func setOwner(_ user: UInt32) throws(DiskError) {
    _ = try descriptor.call("fchown") { fchown($0, uid_t(user), .max) }  // the group stays
  }

  func setMode(_ mode: UInt32) throws(DiskError) {
    _ = try descriptor.call("fchmod") { fchmod($0, mode_t(mode)) }
  }

  func setModified(_ seconds: Double) throws(DiskError) {
    let whole = seconds.rounded(.down)
    let time = timespec(
      tv_sec: Int(exactly: whole) ?? 0, tv_nsec: Int((seconds - whole) * 1e9))
    let times = [timespec(tv_sec: 0, tv_nsec: PlatformCalls.keepTime), time]
    _ = try descriptor.call("futimens") { futimens($0, times) }
  }

  /// Longer than any attribute that Haul writes.
  private static let maximumAttribute = 1024

  func attribute() throws(DiskError) -> [UInt8]? {
    var value = [UInt8](repeating: 0, count: Self.maximumAttribute)
    do throws(DiskError) {
      let count = try descriptor.call("fgetxattr") { number in
        value.withUnsafeMutableBytes { PlatformCalls.attribute(number, $0) }
      }
      return Array(value.prefix(count))
    } catch {
      if error.errno == PlatformCalls.noAttribute { return nil }
      throw error
    }
  }

  func setAttribute(_ value: [UInt8]) throws(DiskError) {
    _ = try descriptor.call("fsetxattr") { number in
      value.withUnsafeBytes { PlatformCalls.setAttribute(number, $0) }
    }
  }

  func tryLock() throws(DiskError) -> Bool {
    do throws(DiskError) {
      try descriptor.tryLock()
      return true
    } catch {
      if error.errno == EWOULDBLOCK { return false }
      throw error
    }
  }

  func close() { descriptor.close() }
}
