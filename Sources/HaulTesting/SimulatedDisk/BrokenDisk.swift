package import HaulCore
import NIOConcurrencyHelpers

/// A disk that delays or omits syncs of the part file; the checks of the schedules must detect it.
package struct BrokenDisk: WrappedDisk {
  package enum Defect: CaseIterable, Sendable {
    /// The durable record is written before the sync.
    case syncAfterDurableRecord
    /// The final name is given before the sync.
    case syncAfterRename
    /// No sync does anything.
    case noSync
    /// The directory is never synced.
    case noDirectorySync
  }

  package let base: any Disk
  let defect: Defect

  package init(_ base: any Disk, defect: Defect) {
    self.base = base
    self.defect = defect
  }

  package func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    BrokenDirectory(try base.openDirectory(path, below: roots, creating: creating), defect)
  }
}

/// The delayed sync.
final class DelayedSync: Sendable {
  private let file = NIOLockedValueBox<(any DiskFile)?>(nil)

  func put(_ file: any DiskFile) { self.file.withLockedValue { $0 = file } }

  func perform() throws(DiskError) {
    let file = file.withLockedValue { file in
      defer { file = nil }
      return file
    }
    try file?.sync()
  }
}

final class BrokenDirectory: WrappedDirectory {
  let base: any DiskDirectory
  let defect: BrokenDisk.Defect
  let delayedSync = DelayedSync()

  init(_ base: any DiskDirectory, _ defect: BrokenDisk.Defect) {
    self.base = base
    self.defect = defect
  }

  func create(_ name: String) throws(DiskError) -> any DiskFile {
    wrap(try base.create(name), name)
  }

  func open(_ name: String, writing: Bool) throws(DiskError) -> any DiskFile {
    wrap(try base.open(name, writing: writing), name)
  }

  private func wrap(_ file: any DiskFile, _ name: String) -> any DiskFile {
    BrokenFile(file, isPart: name.hasSuffix(".part"), defect, delayedSync)
  }

  func rename(_ name: String, to newName: String, replacing: Bool) throws(DiskError) {
    try base.rename(name, to: newName, replacing: replacing)
    if defect == .syncAfterRename { try delayedSync.perform() }
  }

  func link(_ name: String, to newName: String) throws(DiskError) {
    try base.link(name, to: newName)
    if defect == .syncAfterRename { try delayedSync.perform() }
  }

  func sync() throws(DiskError) {
    if defect != .noSync, defect != .noDirectorySync { try base.sync() }
  }
}

final class BrokenFile: WrappedFile {
  let base: any DiskFile
  let isPart: Bool
  let defect: BrokenDisk.Defect
  let delayedSync: DelayedSync

  init(_ base: any DiskFile, isPart: Bool, _ defect: BrokenDisk.Defect, _ delayedSync: DelayedSync)
  {
    self.base = base
    self.isPart = isPart
    self.defect = defect
    self.delayedSync = delayedSync
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskError) -> Int {
    let count = try base.write(bytes, at: offset)
    if !isPart, defect == .syncAfterDurableRecord { try delayedSync.perform() }
    return count
  }

  func syncData() throws(DiskError) {
    switch defect {
    case .syncAfterDurableRecord where isPart: delayedSync.put(base)
    case .noSync: break
    default: try base.syncData()
    }
  }

  func sync() throws(DiskError) {
    switch defect {
    case .syncAfterDurableRecord where isPart, .syncAfterRename where isPart: delayedSync.put(base)
    case .noSync: break
    default: try base.sync()
    }
  }
}
