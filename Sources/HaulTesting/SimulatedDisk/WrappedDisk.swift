package import HaulCore

/// A disk that changes some calls of another one, and passes on all others.
package protocol WrappedDisk: Disk {
  var base: any Disk { get }
  /// The other disk, for a call that may block.
  func called() -> any Disk
}

extension WrappedDisk {
  package func called() -> any Disk { base }
  package var bootID: String { base.bootID }
  package var effectiveUser: UInt32 { base.effectiveUser }
  package var creationMask: UInt32 { base.creationMask }
  package func workingDirectory() throws(DiskError) -> String { try called().workingDirectory() }
}

protocol WrappedDirectory: DiskDirectory {
  var base: any DiskDirectory { get }
  func called() -> any DiskDirectory
}

extension WrappedDirectory {
  func called() -> any DiskDirectory { base }
  var path: String { base.path }
  var mountID: UInt64 { base.mountID }
  func isAtPath() throws(DiskError) -> Bool { try called().isAtPath() }
  func status() throws(DiskError) -> FileStatus { try called().status() }
  func status(of name: String) throws(DiskError) -> FileStatus? { try called().status(of: name) }
  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError) {
    try called().rename(name, to: newName, replacing: replacing)
  }
  func link(_ name: String, to newName: String) throws(DiskError) {
    try called().link(name, to: newName)
  }
  func unlink(_ name: String) throws(DiskError) { try called().unlink(name) }
  func checkWritable() throws(DiskError) { try called().checkWritable() }
  func sync() throws(DiskError) { try called().sync() }
  func defaultMode() throws(DiskError) -> UInt32? { try called().defaultMode() }
  func availableBytes() throws(DiskError) -> Int64? { try called().availableBytes() }
}

protocol WrappedFile: DiskFile {
  var base: any DiskFile { get }
  func called() -> any DiskFile
}

extension WrappedFile {
  func called() -> any DiskFile { base }
  func status() throws(DiskError) -> FileStatus { try called().status() }
  func size() throws(DiskError) -> Int64 { try called().size() }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try called().write(bytes, at: offset)
  }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try called().read(into: buffer, at: offset)
  }
  func truncate(to size: Int64) throws(DiskError) { try called().truncate(to: size) }
  func allocate(_ range: ByteRange) throws(DiskError) { try called().allocate(range) }
  func deallocate(_ range: ByteRange) throws(DiskError) { try called().deallocate(range) }
  func startReading(_ range: ByteRange) { called().startReading(range) }
  func startWriteback(_ range: ByteRange) { called().startWriteback(range) }
  func syncData() throws(DiskError) { try called().syncData() }
  func sync() throws(DiskError) { try called().sync() }
  func takeAccess(of former: any DiskFile) throws(DiskError) { try called().takeAccess(of: former) }
  func flush() throws(DiskError) { try called().flush() }
  func setOwner(_ user: UInt32) throws(DiskError) { try called().setOwner(user) }
  func setMode(_ mode: UInt32) throws(DiskError) { try called().setMode(mode) }
  func setModified(_ seconds: Double) throws(DiskError) { try called().setModified(seconds) }
  func attribute() throws(DiskError) -> [UInt8]? { try called().attribute() }
  func setAttribute(_ value: [UInt8]) throws(DiskError) { try called().setAttribute(value) }
  func tryLock() throws(DiskError) -> Bool { try called().tryLock() }
  func close() { called().close() }
}
