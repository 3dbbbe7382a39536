package import HaulCore

/// The result of adopting the files of earlier runs.
package struct Recovery: Hashable, Sendable {
  /// The resource of the bytes; nil if there is nothing to resume: then call `begin`.
  package var head: JournalHead?
  /// The correct bytes on disk.
  package var received = ByteRangeSet()
  /// Whether the bytes may be of several versions, so that only a digest of the whole file proves
  /// them.
  package var mayMixVersions = false
  /// Where the segments of earlier runs began, in ascending order.
  package var segmentStarts: [Int64] = []
  /// Digests that the whole file did not have.
  package var rejected: [Checksum] = []
  /// Whether an earlier run published the file; then only record and release it.
  package var published = false
  package var publishedName: String?
  package var publishedLength: Int64?
  /// Whether neither a part file nor a journal existed.
  package var wasCreated = false

  package init() {}
}

/// Which files may be adopted: those of this user that no other user can have changed.
enum Ownership {
  /// - Parameters:
  ///   - owner: another owner that is accepted.
  ///   - modes: those that are accepted although others may write; the bytes are then read back.
  static func check(
    _ status: FileStatus, user: UInt32, orOwner owner: UInt32? = nil, modes: [UInt32] = [],
    what: String
  ) throws(TransferError) {
    if status.kind == .regular, ![user, owner].contains(status.owner) {
      let isSecret = user != 0 && status.mode & 0o044 == 0
      throw TransferError(
        .nameConflict,
        "the \(what) of that name belongs to \(UserName.text(status.owner))"
          + (isSecret ? " and cannot be read" : ""),
        advice: "it was left unchanged, run as that user or choose another name")
    }
    guard status.kind == .regular, status.links == 1,
      status.mode & 0o022 == 0 || modes.contains(status.mode)
    else {
      throw TransferError(
        .nameConflict,
        "a \(what) of that name exists that Haul did not create",
        advice: "it was left unchanged, move it away"
      )
    }
  }
}

extension DiskDirectory {
  /// Whether another user may have put the file here, and may change it later. The kernel has the
  /// same rule for such directories (fs.protected_regular).
  func mayBePlanted(_ file: FileStatus, _ user: UInt32) throws(DiskError) -> Bool {
    guard file.owner != user, file.owner != 0 else { return false }
    let directory = try status()
    return directory.mode & 0o1000 != 0 && file.owner != directory.owner
  }

  /// Whether the name still refers to that file.
  func has(_ identity: FileIdentity, as name: String) throws(DiskError) -> Bool {
    guard let status = try status(of: name) else { return false }
    return status.kind == .regular && FileIdentity(status) == identity
  }

  /// Removes a name if it still refers to that file, because Haul deletes only files that it
  /// created.
  func unlink(_ name: String, ifStill identity: FileIdentity) throws(DiskError) {
    if try has(identity, as: name) { try unlink(name) }
  }
}
