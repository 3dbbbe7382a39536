import GRDB
import HaulCore

/// Where the bytes of unfinished members are.
enum LocationRows {
  static func put(_ location: FileLocation?, of member: Int64, db: Database) throws {
    guard let location else {
      return try db.cachedStatement(sql: "DELETE FROM places WHERE member = ?")
        .execute(arguments: StatementArguments(of: [member.databaseValue]))
    }
    try db.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO places (member, directory, device, boot, name, part, length)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(
      arguments: StatementArguments(of: [
        member.databaseValue, StoredText.value(location.directory),
        Int64(bitPattern: location.device).databaseValue, location.boot.databaseValue,
        StoredText.value(location.name), StoredText.value(location.partName),
        location.length?.databaseValue ?? .null,
      ]))
  }

  static func all(_ db: Database) throws -> [TransferID: FileLocation] {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT members.id, directory, device, boot, name, part, length
        FROM places JOIN members ON seq = member
        """)
    var locations: [TransferID: FileLocation] = [:]
    while let row = try rows.next() {
      guard let directory = try StoredText.text(row, 1), let name = try StoredText.text(row, 4),
        let part = try StoredText.text(row, 5)
      else { throw TransferError.unreadable("a file location") }
      locations[try TransferID(stored: row.decode(Int64.self, atIndex: 0))] = FileLocation(
        directory: directory,
        device: UInt64(bitPattern: try row.decode(Int64.self, atIndex: 2)),
        boot: try row.decode(String.self, atIndex: 3), name: name, partName: part,
        length: try row.decode(Int64?.self, atIndex: 6))
    }
    return locations
  }
}
