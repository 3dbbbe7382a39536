package import HaulCore

/// Decides which files of a watch folder are complete: those that have not changed for a while, as
/// a program writes them piece by piece. It performs nothing.
package struct DroppedFiles: Sendable {
  /// What tells one version of a file from another.
  package struct Version: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// Nanoseconds since 1970, of its content and of its entry.
    let modified: Int64
    let changed: Int64

    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
      (self.device, self.inode, self.size) = (device, inode, size)
      (self.modified, self.changed) = (modified, changed)
    }
  }

  private static let settled: Duration = .seconds(3)

  private struct Seen {
    let version: Version
    let since: Instant
    var isHandled = false
  }

  private var seen: [String: Seen] = [:]

  package init() {}

  /// Those that are complete and were not handled, by name.
  package mutating func ready(_ present: [String: Version], at now: Instant) -> [String] {
    var next: [String: Seen] = [:]
    // A browser makes an empty file first, and writes beside it.
    for (name, version) in present where version.size > 0 && !Self.isUnfinished(name) {
      let former = seen[name]
      next[name] = former?.version == version ? former : Seen(version: version, since: now)
    }
    seen = next
    return seen.filter { !$0.value.isHandled && now - $0.value.since >= Self.settled }
      .keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Takes note that one was handled: if it stays there, it is not handled again until it changes.
  package mutating func handled(_ name: String) { seen[name]?.isHandled = true }

  /// As editors, browsers and copying programs name what they have not finished.
  private static func isUnfinished(_ name: String) -> Bool {
    name.hasBytePrefix(".") || name.hasByteSuffix("~")
      || [
        ".part", ".partial", ".filepart", ".tmp", ".crdownload", ".opdownload", ".download", ".swp",
      ].contains { name.lowercased().hasByteSuffix($0) }
  }
}
