package import HaulCore
import Synchronization

/// A disk that counts the bytes that are read from part files, and may hold who reads them.
package struct CountingDisk: Disk {
  /// Counts across every file of the disk.
  package final class Counter: Sendable {
    private let total = Atomic<Int64>(0)
    fileprivate let willRead: @Sendable () -> Void

    fileprivate init(_ willRead: @escaping @Sendable () -> Void) { self.willRead = willRead }

    package var bytesRead: Int64 { total.load(ordering: .sequentiallyConsistent) }
    func add(_ count: Int) { total.add(Int64(count), ordering: .sequentiallyConsistent) }
  }

  package let counter: Counter
  let base: any Disk

  /// - Parameter willRead: called before each read of a part file, on the thread that reads; it may block.
  package init(_ base: any Disk, willRead: @escaping @Sendable () -> Void = {}) {
    self.base = base
    counter = Counter(willRead)
  }

  package var bootID: String { base.bootID }
  package var effectiveUser: UInt32 { base.effectiveUser }
  package var creationMask: UInt32 { base.creationMask }

  package func workingDirectory() throws(DiskError) -> String { try base.workingDirectory() }

  package func openDirectory(
    _ path: String, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    CountingDirectory(try base.openDirectory(path, creating: creating), counter)
  }
}

final class CountingDirectory: DiskDirectory {
  let base: any DiskDirectory
  let counter: CountingDisk.Counter

  init(_ base: any DiskDirectory, _ counter: CountingDisk.Counter) {
    self.base = base
    self.counter = counter
  }

  private func counted(_ file: any DiskFile, _ name: String) -> any DiskFile {
    name.hasSuffix(".part") ? CountingFile(file, counter) : file
  }

  var path: String { base.path }
  var mountID: UInt64 { base.mountID }
  func status() throws(DiskError) -> FileStatus { try base.status() }
  func status(of name: String) throws(DiskError) -> FileStatus? { try base.status(of: name) }
  func create(_ name: String) throws(DiskError) -> any DiskFile {
    counted(try base.create(name), name)
  }
  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile {
    counted(try base.open(name, writing: writing), name)
  }
  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError) {
    try base.rename(name, to: newName, replacing: replacing)
  }
  func link(_ name: String, to newName: String) throws(DiskError) {
    try base.link(name, to: newName)
  }
  func unlink(_ name: String) throws(DiskError) { try base.unlink(name) }
  func checkWritable() throws(DiskError) { try base.checkWritable() }
  func sync() throws(DiskError) { try base.sync() }
  func availableBytes() throws(DiskError) -> Int64? { try base.availableBytes() }
}

final class CountingFile: DiskFile {
  let base: any DiskFile
  let counter: CountingDisk.Counter

  init(_ base: any DiskFile, _ counter: CountingDisk.Counter) {
    self.base = base
    self.counter = counter
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    counter.willRead()
    let count = try base.read(into: buffer, at: offset)
    counter.add(count)
    return count
  }

  func status() throws(DiskError) -> FileStatus { try base.status() }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    try base.write(bytes, at: offset)
  }
  func truncate(to size: Int64) throws(DiskError) { try base.truncate(to: size) }
  func allocate(_ size: Int64) throws(DiskError) { try base.allocate(size) }
  func startWriteback(_ range: ByteRange) { base.startWriteback(range) }
  func syncData() throws(DiskError) { try base.syncData() }
  func sync() throws(DiskError) { try base.sync() }
  func setMode(_ mode: UInt32) throws(DiskError) { try base.setMode(mode) }
  func setModified(_ seconds: Double) throws(DiskError) { try base.setModified(seconds) }
  func attribute() throws(DiskError) -> [UInt8]? { try base.attribute() }
  func setAttribute(_ value: [UInt8]) throws(DiskError) { try base.setAttribute(value) }
  func tryLock() throws(DiskError) -> Bool { try base.tryLock() }
  func close() { base.close() }
}
