/// Which file is uploaded, and which version of it: what `fstat` says about it, or the server of a
/// remote one.
package struct SourceIdentity: Sendable, Hashable, Codable {
  package let device: UInt64
  package let inode: UInt64
  /// In bytes.
  package let size: Int64
  /// Seconds since 1970.
  package let modified: Double
  /// The version of a remote source; nil for a file or a stream.
  package private(set) var remote: Remote?

  /// Which remote resource it is, and which version of it.
  package struct Remote: Sendable, Hashable, Codable {
    /// A digest of its address, which may be a secret.
    package let address: String
    /// Its strong entity tag, or its date if that is strong, with its weak entity tag.
    package let validator: String

    /// By bytes: entity tags that are canonically equal are two.
    package static func == (left: Remote, right: Remote) -> Bool {
      left.address.isByteEqual(right.address) && left.validator.isByteEqual(right.validator)
    }
  }

  package init(_ status: FileStatus) {
    device = status.device
    inode = status.inode
    size = status.size
    modified = status.modified
  }

  /// A stream, which no file and no other stream equals.
  /// - Parameter length: in bytes; nil if it is not known.
  package init(stream number: UInt64, length: Int64?) {
    (device, inode, size, modified) = (0, number, length ?? -1, 0)
  }

  /// A version of a remote resource.
  /// - Parameter address: a digest of its address.
  package init(_ version: RemoteVersion, address: String) {
    (device, inode, size, modified) = (0, 0, version.length, 0)
    remote = version.validator.strongText.map { Remote(address: address, validator: $0) }
  }

  /// Whether it is the same version of a remote resource, whatever the address.
  package func isSameVersion(as other: SourceIdentity) -> Bool {
    guard let remote, let otherRemote = other.remote else { return false }
    return size == other.size && remote.validator.isByteEqual(otherRemote.validator)
  }

  /// What differs in another identity of the same path, for a message; nil if nothing does.
  package func difference(from now: SourceIdentity) -> String? {
    if (now.device, now.inode) != (device, inode) { return "it was replaced by another file" }
    if now.size != size { return "it has \(now.size) bytes instead of \(size)" }
    return now.modified == modified ? nil : "it was written to"
  }
}
