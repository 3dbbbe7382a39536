extension DownloadMachine {
  /// An existing file that may be the requested one.
  package struct ExistingFile: Sendable, Hashable {
    package let path: String
    package let size: Int64
    /// Seconds since 1970.
    package let modified: Double
    /// Its entity tag, if Haul made it.
    package let entityTag: String?
    /// Whether its date alone does not identify its version.
    package let hasWeakDate: Bool
    /// Whether its file system may keep dates in steps of two seconds, as FAT does.
    package let hasCoarseDate: Bool
    /// Whether an earlier download of this address made it, and it is unchanged.
    package let isOwn: Bool

    package init(
      path: String, size: Int64, modified: Double, entityTag: String? = nil,
      hasWeakDate: Bool = false, hasCoarseDate: Bool = false, isOwn: Bool = false
    ) {
      self.path = path
      self.size = size
      self.modified = modified
      self.entityTag = entityTag
      self.hasWeakDate = hasWeakDate
      self.hasCoarseDate = hasCoarseDate
      self.isOwn = isOwn
    }

    /// Whether it came from this fresh copy of a cache, or from a later answer of the server.
    func isAsNew(as version: Version, receivedAt seconds: Double) -> Bool {
      isOwn && version.length == size && version.validator == .none && modified >= seconds
    }

    /// Whether it is that version, judging by length and date, or by length and tag without a date
    /// (RFC 9110, section 13.1.2: a weak comparison).
    package func isCopy(of version: Version, wallSeconds: Double) -> Bool {
      guard version.length == size else { return false }
      // An empty file is the same whatever its date, which a 416 does not send.
      if size == 0 { return true }
      if hasWeakDate { return false }
      let isTagOurs = entityTag.flatMap(EntityTag.init).flatMap { ours in
        version.validator.entityTag.flatMap(EntityTag.init).map(ours.weaklyMatches)
      }
      guard let date = version.validator.lastModified else { return isTagOurs ?? false }
      guard isTagOurs != false,
        let seconds = HTTPDate(date, now: wallSeconds)?.secondsSince1970
      else { return false }
      let ours = Int64(modified.rounded(.down))
      return seconds == ours || (hasCoarseDate && seconds & ~1 == ours)
    }
  }
}
