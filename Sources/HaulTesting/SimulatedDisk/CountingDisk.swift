package import HaulCore
import Synchronization

/// A disk that counts the bytes that are read from part files, may block reads, and reports each
/// call.
package struct CountingDisk: WrappedDisk {
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
  package let base: any Disk

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

  package func called() -> any Disk {
    counter.willCall()
    return base
  }

  package func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    CountingDirectory(try called().openDirectory(path, below: roots, creating: creating), counter)
  }
}

final class CountingDirectory: WrappedDirectory {
  let base: any DiskDirectory
  let counter: CountingDisk.Counter

  init(_ base: any DiskDirectory, _ counter: CountingDisk.Counter) {
    self.base = base
    self.counter = counter
  }

  func called() -> any DiskDirectory {
    counter.willCall()
    return base
  }

  private func counted(_ file: any DiskFile, _ name: String) -> any DiskFile {
    CountingFile(file, counter, isPart: name.hasSuffix(".part"))
  }

  func create(_ name: String) throws(DiskError) -> any DiskFile {
    counted(try called().create(name), name)
  }
  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile {
    counted(try called().open(name, writing: writing), name)
  }
}

final class CountingFile: WrappedFile {
  let base: any DiskFile
  let counter: CountingDisk.Counter
  private let isPart: Bool

  init(_ base: any DiskFile, _ counter: CountingDisk.Counter, isPart: Bool) {
    self.base = base
    self.counter = counter
    self.isPart = isPart
  }

  func called() -> any DiskFile {
    counter.willCall()
    return base
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    if isPart { counter.willRead() }
    let count = try called().read(into: buffer, at: offset)
    if isPart { counter.add(count) }
    return count
  }
}
