import HaulCore
import HaulFiles

extension FileLocation {
  /// Deletes the part file of an address without adopting it, because the disk is full. Blocks.
  func discard(_ url: ResourceURL, on disk: any Disk) throws(TransferError) {
    guard let found = DirectoryLookup.find(directory, on: disk) else { return }
    try PartFile.removeLeftovers(of: name, in: found.directory, on: disk) { $0.matches(url) }
  }

  /// What is there of the file, to show it before the next run; nil if that is unknown. Blocks.
  func progress(on disk: any Disk) -> TransferProgress? {
    guard let found = DirectoryLookup.find(directory, on: disk),
      let claims = PartFile.claims(of: name, in: found.directory)
    else { return nil }
    return TransferProgress(bytes: claims.bytes, total: claims.length, rate: 0, connections: 0)
  }
}
