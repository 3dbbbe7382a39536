package import HaulCore
import Synchronization

/// A disk that counts the bytes that are read from part files, may block reads, and reports each
/// call.
package struct CountingDisk: Disk {
  /// Counts for all files of the disk.
  package final class Counter: Sendable {
    private let total = Atomic<Int64>(0)
    fileprivate let willRead: @Sendable () -> Void
    fileprivate let willCall: @Sendable () -> Void

    fileprivate init(
      _ willRead: @escaping @Sendable () -> Void, _ willCall: @escaping @Sendable () -> Void
    ) { (self.willRead, self.willCall) = (willRead, willCall) }

    package var bytesRead: Int64 { total.load(ordering: .sequentiallyConsistent) }
    func add(_ count: Int) { total.add(Int64(count), ordering: .sequentiallyConsistent) }
  }

  package let counter: Counter
  let base: any Disk

  /// - Parameters:
  ///   - willRead: called before each read of a part file, on the reading thread; it may block.
  ///   - willCall: called before each call that may block, on the calling thread.
  package init(
    _ base: any Disk, willRead: @escaping @Sendable () -> Void = {},
    willCall: @escaping @Sendable () -> Void = {}
  ) {
    self.base = base
    counter = Counter(willRead, willCall)
  }

  private func called() -> any Disk {
    counter.willCall()
    return base
  }

  package var bootID: String { base.bootID }
  package var effectiveUser: UInt32 { base.effectiveUser }
  package var creationMask: UInt32 { base.creationMask }

  package func workingDirectory() throws(DiskError) -> String { try called().workingDirectory() }

  package func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    CountingDirectory(try called().openDirectory(path, below: roots, creating: creating), counter)
  }
}

final class CountingDirectory: DiskDirectory {
  let base: any DiskDirectory
  let counter: CountingDisk.Counter

  init(_ base: any DiskDirectory, _ counter: CountingDisk.Counter) {
    self.base = base
    self.counter = counter
  }

  private func called() -> any DiskDirectory {
    counter.willCall()
    return base
  }

  private func counted(_ file: any DiskFile, _ name: String) -> any DiskFile {
    CountingFile(file, counter, isPart: name.hasSuffix(".part"))
  }

  var path: String { base.path }
  var mountID: UInt64 { base.mountID }
  func isAtPath() throws(DiskError) -> Bool { try called().isAtPath() }
  func status() throws(DiskError) -> FileStatus { try called().status() }
  func status(of name: String) throws(DiskError) -> FileStatus? { try called().status(of: name) }
  func create(_ name: String) throws(DiskError) -> any DiskFile {
    counted(try called().create(name), name)
  }
  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile {
    counted(try called().open(name, writing: writing), name)
  }
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

final class CountingFile: DiskFile {
  let base: any DiskFile
  let counter: CountingDisk.Counter
  private let isPart: Bool

  init(_ base: any DiskFile, _ counter: CountingDisk.Counter, isPart: Bool) {
    self.base = base
    self.counter = counter
    self.isPart = isPart
  }

  private func called() -> any DiskFile {
    counter.willCall()
    return base
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    if isPart { counter.willRead() }
    let count = try called().read(into: buffer, at: offset)
    if isPart { counter.add(count) }
    return count
  }

  func status() throws(DiskError) -> FileStatus { try called().status() }
  func size() throws(DiskError) -> Int64 { try called().size() }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try called().write(bytes, at: offset)
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
