import HaulCore
import HaulFiles

extension FileLocation {
  /// Takes away the bytes of an address that are there, where there is no room to take them over
  /// first. Blocks.
  func discard(_ url: ResourceURL, on disk: any Disk) throws(TransferError) {
    guard let found = DirectoryLookup.find(directory, on: disk) else { return }
    try PartFile.removeLeft(of: name, in: found.directory, on: disk) { $0.isOf(url) }
  }
}
