package import HaulCore

/// An attribute of a finished file: its resource, and its state when Haul finished it. If the state
/// differs, another program has changed the file.
package struct FileRecord: Hashable, Sendable {
  /// Half of the SHA-256 of the address; see `ResourceFingerprint`.
  private let resource: ArraySlice<UInt8>
  private let size: Int64
  /// Seconds since 1970.
  private let modified: Double
  /// The server's entity tag, if it sent one.
  package let entityTag: String?
  /// Whether the server's date was so recent that the file may have changed later with the same
  /// date (RFC 9110, section 8.8.2.2).
  package let hasWeakDate: Bool
  /// Whether a client over TCP added the download: then it proves nothing to the owner, and only
  /// such a file may be replaced or deleted over TCP.
  package let isOfClient: Bool

  /// The versions for the owner's files and a client's; each is one more if the date is weak.
  private static let (version, clientVersion): (UInt8, UInt8) = (1, 3)
  /// The attribute of a part file until it is whole. It only shows that Haul created it.
  static let unfinishedAttribute = [version]
  private static let resourceLength = 16
  private static let longestTag = 512

  /// - Parameters:
  ///   - url: the address; nil if only the journal has it.
  ///   - size: the size of the whole file, in bytes.
  ///   - modified: its modification time, in seconds since 1970.
  init(of head: JournalHead, url: ResourceURL?, size: Int64, modified: Double) {
    let address =
      url.map(ResourceFingerprint.exactBytes)
      ?? ResourceFingerprint.bytes(hex: head.fingerprint.hex)
    resource = address.prefix(Self.resourceLength)
    self.size = size
    self.modified = modified
    entityTag = head.validator.entityTag
    hasWeakDate = head.validator.lastModified != nil && !head.validator.isStrong
    isOfClient = head.isOfClient
  }

  /// Nil if the bytes are no record of this version.
  init?(_ bytes: [UInt8]) {
    let tagStart = 1 + Self.resourceLength + 16
    guard let version = bytes.first, (Self.version...Self.clientVersion + 1).contains(version),
      bytes.count >= tagStart
    else { return nil }
    isOfClient = version >= Self.clientVersion
    hasWeakDate = version.isMultiple(of: 2)
    resource = bytes[1...Self.resourceLength]
    size = Int64(littleEndian: bytes[(1 + Self.resourceLength)..<(tagStart - 8)])
    modified = Double(bitPattern: UInt64(littleEndian: bytes[(tagStart - 8)..<tagStart]))
    let tag = String(decoding: bytes[tagStart...], as: UTF8.self)
    entityTag = tag.isEmpty ? nil : tag
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    bytes.append((isOfClient ? Self.clientVersion : Self.version) + (hasWeakDate ? 1 : 0))
    bytes += resource
    withUnsafeBytes(of: size.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: modified.bitPattern.littleEndian) { bytes += $0 }
    // A record that does not fit is none, and then the file would be anybody's.
    if let entityTag, entityTag.utf8.count <= Self.longestTag { bytes += entityTag.utf8 }
    return bytes
  }

  /// Whether it is that resource, apart from the values of a signature that covers the address.
  package func matches(_ url: ResourceURL) -> Bool {
    resource.elementsEqual(ResourceFingerprint.exactBytes(url).prefix(Self.resourceLength))
  }

  /// Whether an equal validator proves it to be the version of the journal's head.
  /// - Parameters:
  ///   - size: the size of that version, in bytes.
  ///   - modified: the server's date of it, in seconds since 1970; nil without one.
  func hasVersion(of head: JournalHead, size: Int64, modified: Double?) -> Bool {
    guard size == self.size, isOfClient == head.isOfClient else { return false }
    if let modified, modified != self.modified { return false }
    guard let text = head.validator.entityTag, let entityTag else {
      // Without tags, the dates must be old enough in both.
      return head.validator.entityTag == nil && entityTag == nil && modified != nil
        && head.validator.isStrong && !hasWeakDate
    }
    guard let tag = EntityTag(text), let other = EntityTag(entityTag) else { return false }
    return tag.stronglyMatches(other)
  }

  /// The record of a file that is unchanged since Haul created it; nil for any other, or if that is
  /// unknown.
  package static func read(
    _ name: String, in directory: any DiskDirectory, user: UInt32
  ) -> FileRecord? {
    // A file that cannot be opened or has no attribute may be another program's.
    guard let file = try? directory.open(name, writing: false) else { return nil }
    defer { file.close() }
    guard let bytes = try? file.attribute(), let record = FileRecord(bytes),
      let status = try? file.status(), status.kind == .regular, status.owner == user,
      status.size == record.size, status.modified == record.modified
    else { return nil }
    return record
  }
}
