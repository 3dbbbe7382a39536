/// A failed call to the operating system: its name and `errno`.
package struct DiskError: Error, Hashable, Sendable {
  package let call: String
  package let errno: Int32

  package init(_ call: String, _ errno: Int32) {
    self.call = call
    self.errno = errno
  }
}

/// What `lstat` and `fstat` tell.
package struct FileStatus: Hashable, Sendable {
  package enum Kind: Hashable, Sendable { case regular, directory, symlink, other }

  package var kind: Kind
  package var device: UInt64
  package var inode: UInt64
  package var size: Int64
  /// Bytes of room held on the disk, reserved ones included.
  package var allocated: Int64
  package var owner: UInt32
  /// The permission bits.
  package var mode: UInt32
  package var links: UInt64
  /// Seconds since 1970.
  package var modified: Double
  /// When content or metadata changed last, in seconds since 1970; nobody can set it back.
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

/// The file system, as a port. Every call may block: only `BlockingIO` makes them.
package protocol Disk: Sendable {
  /// Tells one boot of the machine from another.
  var bootID: String { get }
  var effectiveUser: UInt32 { get }
  /// The process's `umask`: permission bits that a new file does not get.
  var creationMask: UInt32 { get }
  /// What relative paths begin with, absolute.
  func workingDirectory() throws(DiskError) -> String
  /// Opens a directory; makes it and its parents first when asked.
  func openDirectory(_ path: String, creating: Bool) throws(DiskError) -> any DiskDirectory
}

/// An open directory. Names are single components; nothing follows a symlink.
package protocol DiskDirectory: AnyObject, Sendable {
  var path: String { get }
  /// Tells one mount from another within a boot.
  var mountID: UInt64 { get }
  /// `fstat` of the directory itself; `links` is 0 once it was removed.
  func status() throws(DiskError) -> FileStatus
  /// `lstat`; nil when there is no such name.
  func status(of name: String) throws(DiskError) -> FileStatus?
  /// Fails where this process may make no file, and makes none.
  func checkWritable() throws(DiskError)
  /// A new regular file, 0600, for reading and writing; fails with `EEXIST`.
  func create(_ name: String) throws(DiskError) -> any DiskFile
  /// An existing file for reading, or for reading and writing; a symlink fails with `ELOOP`.
  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile
  /// In one step. Not replacing fails with `EEXIST`, and with `ENOSYS` or `EINVAL` where that
  /// cannot be promised.
  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError)
  func link(_ name: String, to newName: String) throws(DiskError)
  func unlink(_ name: String) throws(DiskError)
  /// Makes creations, renames and removals in the directory durable.
  func sync() throws(DiskError)
  /// Bytes that may still be written here; nil when the file system does not tell.
  func availableBytes() throws(DiskError) -> Int64?
}

/// An open file. Positional calls may come from several threads at once.
package protocol DiskFile: AnyObject, Sendable {
  func status() throws(DiskError) -> FileStatus
  /// Writes some of the bytes; returns how many.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int
  /// Reads some bytes; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int
  func truncate(to size: Int64) throws(DiskError)
  /// Reserves room without changing content; fails with `EOPNOTSUPP` where that is unknown.
  func allocate(_ size: Int64) throws(DiskError)
  /// Starts write-back of a range without waiting; a hint, so it cannot fail.
  func startWriteback(_ range: ByteRange)
  /// `fdatasync`.
  func syncData() throws(DiskError)
  /// `fsync`.
  func sync() throws(DiskError)
  func setMode(_ mode: UInt32) throws(DiskError)
  /// Seconds since 1970.
  func setModified(_ seconds: Double) throws(DiskError)
  /// Haul's own attribute of the file; nil when it has none. Fails with `EOPNOTSUPP` where files
  /// have no attributes.
  func attribute() throws(DiskError) -> [UInt8]?
  /// Fails as `attribute()`; also where the attribute has no room.
  func setAttribute(_ value: [UInt8]) throws(DiskError)
  /// Takes the exclusive lock without waiting; false when another holds it.
  func tryLock() throws(DiskError) -> Bool
  /// Closes; later calls fail with `EBADF`.
  func close()
}
