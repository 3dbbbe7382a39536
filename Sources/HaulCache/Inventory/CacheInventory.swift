package import HaulCore
import HaulKit

/// What a cache directory holds, for a person who looks at it or empties it.
package struct CacheInventory: Sendable {
  /// One copy.
  package struct Entry: Hashable, Sendable {
    /// Without values of its query.
    package let address: String
    /// Bytes on disk.
    package let size: Int64
    /// When the server sent or last confirmed it, in seconds since 1970.
    package let storedAt: Double
    /// When it was used last.
    package let usedAt: Double
    /// Until when it is used without asking the server, perhaps in the past; nil if the clock was
    /// set back, so that nobody knows.
    package let freshUntil: Double?

    package init(
      address: String, size: Int64, storedAt: Double, usedAt: Double, freshUntil: Double?
    ) {
      (self.address, self.size, self.storedAt) = (address, size, storedAt)
      (self.usedAt, self.freshUntil) = (usedAt, freshUntil)
    }
  }

  /// Which copies to remove.
  package enum Selection: Hashable, Sendable {
    case all
    case addresses(Set<ResourceURL>)
    /// Those that were not used since then.
    case unused(since: Double)
    /// Those that were not used for longest, until the others have at most so many bytes.
    case allBut(bytes: Int64)
  }

  private let disk: DiskStore
  private let defaults: Freshness.Defaults
  private let io = BlockingIO()
  /// The most bytes on disk.
  package let limit: Int64

  package init(_ configuration: ResourceCacheConfiguration, at directory: String) {
    disk = DiskStore(configuration, at: directory)
    defaults = configuration.freshnessDefaults
    limit = configuration.diskLimit
  }

  /// All copies, the last used first.
  /// - Throws: `io`, `permission-denied`, when the directory cannot be used.
  package func entries(at now: Double) async throws(TransferError) -> [Entry] {
    try await io.run { () throws(TransferError) in
      var entries: [Entry] = []
      for row in try disk.rows(at: now) {
        // Another process may have removed it.
        guard let head = try disk.directory.head(row.name)?.head else { continue }
        let staleness = Freshness(head.response, defaults: defaults).staleness(at: now)
        entries.append(
          Entry(
            address: ResourceURL.withoutQueryValues(head.address), size: row.size,
            storedAt: head.response.answeredAt, usedAt: row.usedAt,
            freshUntil: staleness.map { now - $0 }))
      }
      return entries
    }
  }

  /// The number of copies, and their bytes on disk.
  /// - Throws: as `entries(at:)`.
  package func size(at now: Double) async throws(TransferError) -> (count: Int, bytes: Int64) {
    try await io.run { () throws(TransferError) in Self.total(try disk.rows(at: now)) }
  }

  /// Removes copies, and returns how many, and their bytes.
  /// - Throws: as `entries(at:)`.
  package func remove(
    _ selection: Selection, at now: Double
  ) async throws(TransferError) -> (count: Int, bytes: Int64) {
    try await io.run { () throws(TransferError) in
      switch selection {
      case .all: Self.total(try disk.removeAll(at: now) { _ in true })
      case .addresses(let addresses):
        Self.total(try removeAll(of: addresses, at: now))
      case .unused(let time): Self.total(try disk.removeAll(at: now) { $0.usedAt < time })
      case .allBut(let bytes): Self.total(try disk.trim(to: bytes, at: now))
      }
    }
  }

  /// Files of earlier versions have no digest of the address: there all addresses count that look
  /// alike in the list.
  private func removeAll(
    of addresses: Set<ResourceURL>, at now: Double
  ) throws(TransferError) -> [BlobRow] {
    let digests = Set(addresses.map { ResourceKey.digest(of: $0) })
    let texts = Set(addresses.map(\.withoutQueryValues))
    return try disk.removeAll(at: now) { row throws(TransferError) in
      guard texts.contains(ResourceURL.withoutQueryValues(row.address)) else { return false }
      let head = try disk.directory.head(row.name)?.head
      return head?.addressDigest.map(digests.contains) ?? true
    }
  }

  private static func total(_ rows: [BlobRow]) -> (count: Int, bytes: Int64) {
    (rows.count, rows.reduce(0) { $0 + $1.size })
  }
}
