package import HaulCore

/// What Haul puts down in an attribute of a file that it made: which resource it is, and how it was
/// left. A file that is not as it was left is somebody else's.
package struct FileRecord: Hashable, Sendable {
  /// Half of the SHA-256 of the address; see `ResourceFingerprint`.
  private let resource: ArraySlice<UInt8>
  private let size: Int64
  /// Seconds since 1970.
  private let modified: Double
  /// The server's, where it told one.
  package let entityTag: String?
  /// Whether the server's date was so new that the file may have changed since without another (RFC
  /// 9110, section 8.8.2.2).
  package let isUnsure: Bool

  private static let version: UInt8 = 1
  private static let unsureVersion: UInt8 = 2
  /// What a part file has until it is whole: it says no more than that Haul made it.
  static let mark = [version]
  private static let resourceLength = 16

  /// - Parameters:
  ///   - url: the address; nil where only the journal tells it.
  ///   - size: of the whole file, in bytes.
  ///   - modified: its modification time, in seconds since 1970.
  init(of head: JournalHead, url: ResourceURL?, size: Int64, modified: Double) {
    let address =
      url.map(ResourceFingerprint.ofOwn) ?? ResourceFingerprint.bytes(hex: head.fingerprint.hex)
    resource = address.prefix(Self.resourceLength)
    self.size = size
    self.modified = modified
    entityTag = head.validator.entityTag
    isUnsure = head.validator.lastModified != nil && !head.validator.isStrong
  }

  /// Nil for what is no record of this version.
  init?(_ bytes: [UInt8]) {
    let tagStart = 1 + Self.resourceLength + 16
    guard let version = bytes.first, [Self.version, Self.unsureVersion].contains(version),
      bytes.count >= tagStart
    else { return nil }
    isUnsure = version == Self.unsureVersion
    resource = bytes[1...Self.resourceLength]
    size = Int64(littleEndian: bytes[(1 + Self.resourceLength)..<(tagStart - 8)])
    modified = Double(bitPattern: UInt64(littleEndian: bytes[(tagStart - 8)..<tagStart]))
    let tag = String(decoding: bytes[tagStart...], as: UTF8.self)
    entityTag = tag.isEmpty ? nil : tag
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    bytes.append(isUnsure ? Self.unsureVersion : Self.version)
    bytes += resource
    withUnsafeBytes(of: size.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: modified.bitPattern.littleEndian) { bytes += $0 }
    if let entityTag { bytes += entityTag.utf8 }
    return bytes
  }

  /// Whether it is that resource, but for the values of a signature that covers the address.
  package func isOf(_ url: ResourceURL) -> Bool {
    resource.elementsEqual(ResourceFingerprint.ofOwn(url).prefix(Self.resourceLength))
  }

  /// The record of a file that still is as Haul left it; nil for any other, and where that cannot
  /// be told.
  package static func read(
    _ name: String, in directory: any DiskDirectory, user: UInt32
  ) -> FileRecord? {
    // What cannot be opened or has no attribute is not known to be ours.
    guard let file = try? directory.open(name, writing: false) else { return nil }
    defer { file.close() }
    guard let bytes = try? file.attribute(), let record = FileRecord(bytes),
      let status = try? file.status(), status.kind == .regular, status.owner == user,
      status.size == record.size, status.modified == record.modified
    else { return nil }
    return record
  }
}
