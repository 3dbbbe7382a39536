import GRDB
import HaulCore

/// The processes of steps that run programs. A row is valid only while its member runs.
enum ProgramRows {
  static func put(_ process: ProcessIdentity, of member: Int64, db: Database) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO programs (member, pid, start, boot) VALUES (?, ?, ?, ?)
        ON CONFLICT (member) DO UPDATE SET
          pid = excluded.pid, start = excluded.start, boot = excluded.boot
        """
    ).execute(
      arguments: StatementArguments(of: [
        member.databaseValue, Int64(process.pid).databaseValue,
        Int64(bitPattern: process.start).databaseValue, process.boot.databaseValue,
      ]))
  }

  static func ofRunning(_ db: Database) throws -> [StoredProcess] {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT members.id, pid, start, boot FROM programs JOIN members ON seq = member
        WHERE has_run = 2
        """)
    var programs: [StoredProcess] = []
    while let row = try rows.next() {
      programs.append(
        StoredProcess(
          id: try TransferID(stored: row.decode(Int64.self, atIndex: 0)),
          process: ProcessIdentity(
            pid: try row.decode(Int32.self, atIndex: 1),
            start: UInt64(bitPattern: try row.decode(Int64.self, atIndex: 2)),
            boot: try row.decode(String.self, atIndex: 3))))
    }
    return programs.sorted { $0.id < $1.id }
  }
}
