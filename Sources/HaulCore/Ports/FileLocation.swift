/// Where a run's file lies.
public struct FileLocation: Hashable, Sendable {
  /// The path of its directory.
  public let directory: String
  /// Of its file system, in the boot below: numbers of devices hold for one boot.
  public let device: UInt64
  /// Tells one boot of the machine from another.
  public let boot: String
  /// What it is to be called, unless that is taken by then.
  public let name: String
  /// What its bytes are called until it is whole.
  public let partName: String
  /// In bytes; nil while nobody knows.
  public var length: Int64?

  /// A location of these parts.
  public init(
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
public struct StoredLocation: Hashable, Sendable {
  /// Of which transfer.
  public let id: TransferID
  /// Where they lie.
  public let location: FileLocation?

  /// The location of a transfer's bytes.
  public init(id: TransferID, location: FileLocation?) {
    self.id = id
    self.location = location
  }
}
