import HaulCore
import HaulFiles

extension FileLocation {
  /// Deletes the part file of an address without adopting it, because the disk is full. Blocks.
  func discard(_ url: ResourceURL, on disk: any Disk) throws(TransferError) {
    guard let found = DirectoryLookup.find(directory, on: disk) else { return }
    try PartFile.removeLeftovers(of: name, in: found.directory, on: disk) { $0.matches(url) }
  }
}
