/// A failed call to the operating system: its name and `errno`.
package struct DiskError: Error, Hashable, Sendable {
  package let call: String
  package let errno: Int32

  package init(_ call: String, _ errno: Int32) {
    self.call = call
    self.errno = errno
  }
}

/// The result of `lstat` and `fstat`.
package struct FileStatus: Hashable, Sendable {
  package enum Kind: Hashable, Sendable { case regular, directory, symlink, other }

  package var kind: Kind
  package var device: UInt64
  package var inode: UInt64
  package var size: Int64
  /// Bytes allocated on the disk, including reserved ones.
  package var allocated: Int64
  package var owner: UInt32
  /// The permission bits.
  package var mode: UInt32
  package var links: UInt64
  /// Seconds since 1970.
  package var modified: Double
  /// When content or metadata last changed, in seconds since 1970; it cannot be set back.
  package var changed: Double

  package init(
    kind: Kind, device: UInt64, inode: UInt64, size: Int64, owner: UInt32, mode: UInt32,
    links: UInt64, modified: Double, changed: Double = 0, allocated: Int64 = 0
  ) {
    self.kind = kind
    self.device = device
    self.inode = inode
    self.size = size
    self.allocated = allocated
    self.owner = owner
    self.mode = mode
    self.links = links
    self.modified = modified
    self.changed = changed
  }
}

/// The file system, as a port. Every call may block, so only `BlockingIO` makes calls.
package protocol Disk: Sendable {
  /// Distinguishes boots of the machine.
  var bootID: String { get }
  var effectiveUser: UInt32 { get }
  /// The process's `umask`: permission bits that a new file does not get.
  var creationMask: UInt32 { get }
  /// The absolute path that relative paths begin with.
  func workingDirectory() throws(DiskError) -> String
  /// Opens a directory; if `creating`, creates it and its parents first.
  /// - Parameter roots: absolute paths. Unless nil, the directory must be one of them or below it,
  ///   once all links are resolved, or this fails with `EXDEV`; none is followed after that check.
  func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory
}

extension Disk {
  package func openDirectory(
    _ path: String, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    try openDirectory(path, below: nil, creating: creating)
  }
}

/// Which file it is, whatever its name: within one boot and mount.
package struct FileIdentity: Hashable, Sendable, Codable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  package init(_ status: FileStatus) { self.init(device: status.device, inode: status.inode) }
}

/// An open directory. Names are single components; symlinks are not followed.
package protocol DiskDirectory: AnyObject, Sendable {
  var path: String { get }
  /// Distinguishes mounts within a boot.
  var mountID: UInt64 { get }
  /// `fstat` of the directory itself; `links` is 0 after its removal.
  func status() throws(DiskError) -> FileStatus
  /// Whether its path still leads to it; false after it was renamed or replaced.
  func isAtPath() throws(DiskError) -> Bool
  /// `lstat`; nil if the name does not exist.
  func status(of name: String) throws(DiskError) -> FileStatus?
  /// Fails if this process may not create files here; creates none.
  func checkWritable() throws(DiskError)
  /// Creates a regular file, 0600, for reading and writing; fails with `EEXIST`.
  func create(_ name: String) throws(DiskError) -> any DiskFile
  /// Opens an existing file for reading, or for reading and writing; a symlink fails with `ELOOP`.
  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile
  /// Renames atomically. Without `replacing`, fails with `EEXIST` if the new name exists, and with
  /// `ENOSYS` or `EINVAL` where this cannot be guaranteed.
  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError)
  func link(_ name: String, to newName: String) throws(DiskError)
  func unlink(_ name: String) throws(DiskError)
  /// The rights that a file created with 0666 gets by the directory's default ACL, which replaces
  /// the `umask`; nil without one.
  func defaultMode() throws(DiskError) -> UInt32?
  /// Makes creations, renames and removals in the directory durable.
  func sync() throws(DiskError)
  /// Bytes that may still be written here; nil if the file system does not report it.
  func availableBytes() throws(DiskError) -> Int64?
}

/// An open file. Positional calls may come from several threads at once.
package protocol DiskFile: AnyObject, Sendable {
  func status() throws(DiskError) -> FileStatus
  /// The size, cheap enough for each write: it waits for no write and asks no server.
  func size() throws(DiskError) -> Int64
  /// Starts to read a range into the system's cache without waiting; a hint that cannot fail.
  func startReading(_ range: ByteRange)
  /// Writes some of the bytes; returns how many.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int
  /// Reads some bytes; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int
  func truncate(to size: Int64) throws(DiskError)
  /// Reserves room without changing content, and raises the size to the range's end; fails with
  /// `EOPNOTSUPP` where that is not supported.
  func allocate(_ range: ByteRange) throws(DiskError)
  /// Frees the room of a range, which then reads as zeros; the size stays. Fails as `allocate`.
  func deallocate(_ range: ByteRange) throws(DiskError)
  /// Starts write-back of a range without waiting; a hint that cannot fail.
  func startWriteback(_ range: ByteRange)
  /// `fdatasync`.
  func syncData() throws(DiskError)
  /// `fsync`.
  func sync() throws(DiskError)
  /// Reports the errors that `close` reports, such as those of a file system that stores a file
  /// only then. The file stays open.
  func flush() throws(DiskError)
  func setMode(_ mode: UInt32) throws(DiskError)
  /// Changes the owner, as only the superuser can.
  func setOwner(_ user: UInt32) throws(DiskError)
  /// Takes the owner, the group and the access control list of another file; then the mode must be
  /// set.
  func takeAccess(of former: any DiskFile) throws(DiskError)
  /// Seconds since 1970.
  func setModified(_ seconds: Double) throws(DiskError)
  /// Haul's own attribute of the file; nil if there is none. Fails with `EOPNOTSUPP` where files
  /// have no attributes.
  func attribute() throws(DiskError) -> [UInt8]?
  /// Fails like `attribute()`, and if there is no room for the attribute.
  func setAttribute(_ value: [UInt8]) throws(DiskError)
  /// Takes the exclusive lock without waiting; false if another process holds it.
  func tryLock() throws(DiskError) -> Bool
  /// Closes the file; later calls fail with `EBADF`.
  func close()
}
