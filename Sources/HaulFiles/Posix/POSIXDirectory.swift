import HaulCore
import HaulLibC

/// An open directory; names are looked up relative to its descriptor.
final class POSIXDirectory: DiskDirectory {
  let path: String
  let mountID: UInt64
  private let descriptor: DescriptorBox

  init(_ descriptor: DescriptorBox, path: String) throws(DiskError) {
    self.descriptor = descriptor
    self.path = path
    var mount: UInt64 = 0
    _ = try descriptor.call("statx") { number in
      mount = PlatformCalls.mountID(number)
      return 0
    }
    mountID = mount
  }

  func status() throws(DiskError) -> FileStatus {
    var status = stat()
    _ = try descriptor.call("fstat") { fstat($0, &status) }
    return FileStatus(status)
  }

  func isAtPath() throws(DiskError) -> Bool {
    var found = stat()
    guard stat(path, &found) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw DiskError("stat", errno) }
      return false
    }
    let own = try status()
    return UInt64(found.st_dev) == own.device && UInt64(found.st_ino) == own.inode
  }

  func status(of name: String) throws(DiskError) -> FileStatus? {
    var status = stat()
    do throws(DiskError) {
      _ = try descriptor.call("fstatat") { number in
        name.withCString { fstatat(number, $0, &status, AT_SYMLINK_NOFOLLOW) }
      }
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
    return FileStatus(status)
  }

  func checkWritable() throws(DiskError) {
    _ = try descriptor.call("faccessat") { faccessat($0, ".", W_OK | X_OK, AT_EACCESS) }
  }

  func create(_ name: String) throws(DiskError) -> any DiskFile {
    try open(name, flags: O_RDWR | O_CREAT | O_EXCL)
  }

  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile {
    try open(name, flags: writing ? O_RDWR : O_RDONLY)
  }

  private func open(_ name: String, flags: Int32) throws(DiskError) -> any DiskFile {
    let number = try descriptor.call("openat") {
      PlatformCalls.openRelative($0, name, flags, 0o600)
    }
    return POSIXFile(DescriptorBox(number))
  }

  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError) {
    _ = try descriptor.call("rename") {
      replacing
        ? renameat($0, name, $0, newName)
        : PlatformCalls.renameWithoutReplacing($0, name, newName)
    }
  }

  func link(_ name: String, to newName: String) throws(DiskError) {
    _ = try descriptor.call("linkat") { linkat($0, name, $0, newName, 0) }
  }

  func unlink(_ name: String) throws(DiskError) {
    _ = try descriptor.call("unlinkat") { unlinkat($0, name, 0) }
  }

  func defaultMode() throws(DiskError) -> UInt32? {
    do throws(DiskError) {
      let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
      let length = try descriptor.call("fgetxattr") { PlatformCalls.defaultACL($0, none) }
      var value = [UInt8](repeating: 0, count: length)
      let count = try descriptor.call("fgetxattr") { number in
        value.withUnsafeMutableBytes { PlatformCalls.defaultACL(number, $0) }
      }
      return DefaultACL.mode(Array(value.prefix(count)))
    } catch {
      // These say that there is none, or that the file system has no ACLs.
      let absent = [PlatformCalls.noAttribute, EOPNOTSUPP, ENOSYS, EINVAL, EPERM]
      if absent.contains(error.errno) { return nil }
      throw error
    }
  }

  func sync() throws(DiskError) {
    _ = try descriptor.call("fsync") { fsync($0) }
  }

  func availableBytes() throws(DiskError) -> Int64? {
    var status = statvfs()
    _ = try descriptor.call("fstatvfs") { fstatvfs($0, &status) }
    // Some network and FUSE file systems report zero blocks in total; their free space is unknown.
    guard status.f_blocks > 0 else { return nil }
    let (bytes, overflow) = Int64(clamping: status.f_bavail)
      .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
    return overflow ? .max : bytes
  }
}
