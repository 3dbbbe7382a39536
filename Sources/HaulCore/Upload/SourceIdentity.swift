/// Which file is uploaded, and which version of it: what `fstat` says about it.
package struct SourceIdentity: Sendable, Hashable, Codable {
  package let device: UInt64
  package let inode: UInt64
  /// In bytes.
  package let size: Int64
  /// Seconds since 1970.
  package let modified: Double

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

  /// What differs in another identity of the same path, for a message; nil if nothing does.
  package func difference(from now: SourceIdentity) -> String? {
    if (now.device, now.inode) != (device, inode) { return "it was replaced by another file" }
    if now.size != size { return "it has \(now.size) bytes instead of \(size)" }
    return now.modified == modified ? nil : "it was written to"
  }
}
