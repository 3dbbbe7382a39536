package import HaulCache
import HaulControl
import HaulCore

/// What `haul cache` prints. All untrusted text is escaped here.
package enum CacheOutput {
  /// A table of the entries, which fits a terminal.
  package static func table(_ entries: [CacheInventory.Entry], at now: Double) -> TextTable {
    TextTable(
      heads: ["URL", "STATE", "SIZE", "AGE"],
      rows: entries.map { entry in
        [
          TerminalText.escaped(entry.address), state(entry, at: now), Units.bytes(entry.size),
          Units.clock(seconds: max(0, now - entry.storedAt)),
        ]
      },
      flexible: [0], optional: [3, 2], rightAligned: [2, 3])
  }

  private static func state(_ entry: CacheInventory.Entry, at now: Double) -> String {
    guard let end = entry.freshUntil, end > now else { return "stale" }
    let rest = Units.clock(seconds: end - now)
    return rest.isEmpty ? "fresh" : "fresh for \(rest)"
  }

  /// One JSON object per line.
  static func lines(_ entries: [CacheInventory.Entry], at now: Double) throws -> String {
    try entries.map { try JSONLines.line(of: Line(entry: $0, now: now)) }.joined()
  }

  /// What was removed, as a line for a person.
  static func removed(_ removed: (count: Int, bytes: Int64)) -> String {
    "haul: removed \(files(removed.count)) from the cache, \(Units.bytes(removed.bytes))\n"
  }

  private static func files(_ count: Int) -> String {
    "\(Units.count(count)) \(count == 1 ? "file" : "files")"
  }

  private struct Line: Encodable {
    let entry: CacheInventory.Entry
    let now: Double

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Key.self)
      try object.encode("entry", forKey: .type)
      try object.encode(entry.address, forKey: .url)
      try object.encode(entry.size, forKey: .bytes)
      try object.encode(JSONNumber.seconds(entry.storedAt), forKey: .stored)
      try object.encode(JSONNumber.seconds(entry.usedAt), forKey: .used)
      try object.encode(entry.freshUntil.flatMap(JSONNumber.seconds), forKey: .freshUntil)
      try object.encode((entry.freshUntil ?? now) > now, forKey: .fresh)
    }

    private enum Key: String, CodingKey {
      case type, url, bytes, stored, used
      case freshUntil = "fresh_until"
      case fresh
    }
  }

  /// How much the cache has.
  struct Size: Encodable {
    var type = "size"
    let entries: Int
    let bytes: Int64
    let limit: Int64
    let directory: String

    /// One line.
    var text: String {
      Messages.shown(
        "\(files(entries)), \(Units.bytes(bytes)) of at most \(Units.bytes(limit)), in \(directory)"
      )
        + "\n"
    }
  }
}
