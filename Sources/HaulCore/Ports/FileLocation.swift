/// The location of a run's file.
public struct FileLocation: Hashable, Sendable {
  /// The path of its directory.
  public let directory: String
  /// The device of its file system; device numbers are valid only within `boot`.
  public let device: UInt64
  /// Distinguishes boots of the machine.
  public let boot: String
  /// The final name, unless it is taken at publication.
  public let name: String
  /// The name of the part file.
  public let partName: String
  /// The length in bytes; nil while it is unknown.
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

/// Where the bytes of a transfer are that will continue; nil if it does not continue with them.
public struct StoredLocation: Hashable, Sendable {
  /// The transfer.
  public let id: TransferID
  /// The location of its bytes.
  public let location: FileLocation?

  /// The location of a transfer's bytes.
  public init(id: TransferID, location: FileLocation?) {
    self.id = id
    self.location = location
  }
}
