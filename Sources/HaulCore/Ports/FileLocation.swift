/// Where a run's file lies.
package struct FileLocation: Hashable, Sendable {
  /// The path of its directory.
  package let directory: String
  /// Of its file system, in the boot below: numbers of devices hold for one boot.
  package let device: UInt64
  package let boot: String
  /// What it is to be called, unless that is taken by then.
  package let name: String
  /// What its bytes are called until it is whole.
  package let partName: String
  /// In bytes; nil while nobody knows.
  package var length: Int64?

  package init(
    directory: String, device: UInt64, boot: String, name: String, partName: String,
    length: Int64? = nil
  ) {
    self.directory = directory
    self.device = device
    self.boot = boot
    self.name = name
    self.partName = partName
    self.length = length
  }
}

/// Where the bytes lie of a transfer that is to go on; nil when it does not go on with them.
package struct StoredLocation: Hashable, Sendable {
  package let id: TransferID
  package let location: FileLocation?

  package init(id: TransferID, location: FileLocation?) {
    self.id = id
    self.location = location
  }
}
