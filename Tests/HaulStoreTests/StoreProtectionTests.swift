import FoundationEssentials
import GRDB
import HaulCore
import HaulLibC
import HaulStore
import HaulTesting
import Testing

/// A store on disk.
@Suite
struct StoreProtectionTests {
  @Test func `creates its directory and files for its owner only`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(records(3)))
    #expect(try scratch.mode("") == 0o700)
    #expect(
      try scratch.names == ["queue.sqlite", "queue.sqlite-wal", "queue.sqlite-shm", "queue.lock"])
    for name in try scratch.names { #expect(try scratch.mode(name) == 0o600, "\(name)") }
    await store.close()
  }

  @Test func `closes files to other readers`() async throws {
    let scratch = Scratch()
    try await scratch.open().close()
    try scratch.setMode(0o644, of: "queue.sqlite")
    try await scratch.open().close()
    #expect(try scratch.mode("queue.sqlite") == 0o600)
  }

  @Test(arguments: ["", "queue.sqlite", "queue.lock"])
  func `refuses a directory or a file that others may write, and says what to do`(_ name: String)
    async throws
  {
    let scratch = Scratch()
    try await scratch.open().close()
    let before = try scratch.bytes("queue.sqlite")
    for mode: UInt32 in [0o770, 0o702, 0o666] {
      try scratch.setMode(mode | (name.isEmpty ? 0o100 : 0), of: name)
      let error = try await scratch.refusal()
      #expect(error.code == .permissionDenied)
      #expect(error.message.contains("chmod go-w"))
    }
    try scratch.setMode(0o700, of: "")
    #expect(try scratch.bytes("queue.sqlite") == before)
  }

  @Test func `refuses another user's link or directory in a directory for all`() async throws {
    // Only the superuser can give them away.
    guard geteuid() == 0 else { return }
    let scratch = Scratch()
    let (shared, target) = ("\(scratch.base)/shared", "\(scratch.base)/target")
    try #require(mkdir(scratch.base, 0o755) == 0)
    try #require(mkdir(shared, 0o755) == 0 && chmod(shared, 0o1777) == 0)
    try #require(mkdir(target, 0o700) == 0 && mkdir("\(shared)/own", 0o755) == 0)
    try #require(symlink(target, "\(shared)/link") == 0)
    for name in ["own", "link"] { try #require(lchown("\(shared)/\(name)", 12_345, 12_345) == 0) }
    for name in ["own/queue", "link", "link/queue"] {
      let error = await #expect(throws: TransferError.self) {
        _ = try await SQLiteStore(directory: "\(shared)/\(name)", clock: ManualClock())
      }
      #expect(error?.code == .permissionDenied, "\(name)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
  }

  @Test(arguments: ["queue.sqlite", "queue.lock"])
  func `refuses links in place of its files`(_ name: String) async throws {
    let scratch = Scratch()
    try await scratch.open().close()
    let elsewhere = scratch.base + "/elsewhere"
    try FileManager.default.moveItem(atPath: "\(scratch.path)/\(name)", toPath: elsewhere)
    try FileManager.default.createSymbolicLink(
      atPath: "\(scratch.path)/\(name)", withDestinationPath: elsewhere)
    #expect(try await scratch.refusal().code == .permissionDenied)
    try FileManager.default.removeItem(atPath: "\(scratch.path)/\(name)")
    try FileManager.default.linkItem(atPath: elsewhere, toPath: "\(scratch.path)/\(name)")
    #expect(try await scratch.refusal().code == .permissionDenied)
  }

  @Test func `has one opener at a time, and another one gets the owner's process`() async throws {
    let scratch = Scratch()
    let first = try await scratch.open { $0.program = "haul serve" }
    let added = try records(2)
    try await first.commit(adding(added))
    let error = try await scratch.refusal()
    #expect(error.code == .inUse)
    #expect(error.message.contains("this process (since Thu, 01 Jan 1970"))
    // The refusal did not affect the owner.
    #expect(try await scratch.refusal().code == .inUse)
    try await first.commit(removing([added[0].id]))
    await first.close()
    let second = try await scratch.open()
    #expect(try await second.open().members.map(\.id) == [added[1].id])
    await second.close()
  }

  @Test func `reports the process, the program and the time of its owner`() async throws {
    let scratch = Scratch()
    try await scratch.open().close()
    let lock = open("\(scratch.path)/queue.lock", O_RDWR | O_CLOEXEC)
    try #require(lock >= 0)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    try scratch.put("open 1 1795271400 haul get\n".utf8, as: "queue.lock")
    let error = try await scratch.refusal()
    #expect(error.code == .inUse)
    #expect(error.message.contains("haul get (process 1, since Sat, 21 Nov 2026 14:30:00 GMT)"))
    #expect(error.message.contains("a directory of its own"))
    // It has the lock, and has not yet written its owner.
    try scratch.put([], as: "queue.lock")
    #expect(try await scratch.refusal().message.contains("in use by another process"))
  }

  @Test func `can be opened after the death of its process, and is complete`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    let added = try records(3)
    try await store.commit(adding(added))
    let copy = try scratch.copy()
    try copy.put("open 999999999 1 haul\n".utf8, as: "queue.lock")
    try copy.setMode(0o600, of: "queue.lock")
    await store.close()
    let next = try await copy.open()
    #expect(try await next.records(where: RecordQuery()) == added)
    #expect(next.damage == nil)
    await next.close()
  }

  @Test func `can be closed twice, and then reports that it is closed`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    await store.close()
    await store.close()
    let error = try await failure { try await store.commit(adding(records(1))) }
    #expect(error.code == .io)
    #expect(error.message.contains("open it again"))
    #expect(try await failure { _ = try await store.open() } == error)
  }

  @Test func `is released with its last user, without a close`() async throws {
    let scratch = Scratch()
    let added = try records(2)
    do {
      let store = try await scratch.open()
      try await store.commit(adding(added))
    }
    let store = try await scratch.open()
    #expect(try await store.records(where: RecordQuery()) == added)
    await store.close()
  }

  @Test func `opens a store of the first version: files have owners from then on`() async throws {
    let scratch = Scratch()
    let url = try ResourceURL("https://h/x")
    let destinations: [DownloadRequest.Destination] = [
      .file("/d/a"), .directory("/d"), .file("b\0c"), .stream,
    ]
    var ids = Ids()
    let added = destinations.map { destination in
      TransferRecord(
        id: ids.id(),
        request: TransferRequest(.download(DownloadRequest(url: url, to: destination))))
    }
    let store = try await scratch.open()
    try await store.commit(adding(added))
    let members = try await store.open().members
    await store.close()
    let targets = added.map { record in members.first { $0.id == record.id }?.target }
    #expect(targets == [FilePath("/d/a"), nil, FilePath("b\0c"), nil])
    try scratch.sql { db in
      for statement in [
        "DROP TABLE places", "ALTER TABLE members DROP COLUMN wait_reason",
        "ALTER TABLE members DROP COLUMN start_request",
        "ALTER TABLE members DROP COLUMN added", "ALTER TABLE members DROP COLUMN ended",
        "ALTER TABLE secrets DROP COLUMN form_texts", "DROP TABLE secret_aborts",
        "ALTER TABLE secrets DROP COLUMN source",
        "DROP INDEX requests_of_exact_targets",
        "ALTER TABLE requests DROP COLUMN is_exact",
        "DELETE FROM grdb_migrations WHERE identifier <> 'v1'", "PRAGMA user_version = 1",
      ] { try db.execute(sql: statement) }
    }
    let again = try await scratch.open()
    #expect(try await again.open().members == members)
    #expect(try await again.records(added.map(\.id)) == added)
    await again.close()
  }

  @Test func `opens a list of the former schema, whose transfers have no dates`() async throws {
    let scratch = Scratch()
    let added = try records(2)
    var change = adding(added)
    change.time = 5
    let store = try await scratch.open()
    try await store.commit(change)
    await store.close()
    try scratch.sql { db in
      for statement in [
        "ALTER TABLE members DROP COLUMN added", "ALTER TABLE members DROP COLUMN ended",
        "DELETE FROM grdb_migrations WHERE identifier >= 'v8'", "PRAGMA user_version = 7",
      ] { try db.execute(sql: statement) }
    }
    let again = try await scratch.open()
    #expect(try await again.records(added.map(\.id)) == added)
    await again.close()
  }

  @Test func `refuses a newer schema and does not change it`() async throws {
    for change in [
      "PRAGMA user_version = 9", "INSERT INTO grdb_migrations VALUES ('v9')",
    ] {
      let scratch = Scratch()
      try await scratch.open().close()
      try scratch.sql { try $0.execute(sql: change) }
      let before = try scratch.bytes("queue.sqlite")
      for ifDamaged in [DamagedStorePolicy.refuse, .startEmpty] {
        let error = try await scratch.refusal { $0.ifDamaged = ifDamaged }
        #expect(error.code == .io)
        #expect(error.message.contains("newer version"))
      }
      #expect(try scratch.bytes("queue.sqlite") == before)
    }
  }

  @Test func `refuses a database of another program and does not change it`() async throws {
    for change in [
      "PRAGMA application_id = 7", "PRAGMA application_id = 0; PRAGMA user_version = 0",
    ] {
      let scratch = Scratch()
      try await scratch.open().close()
      try scratch.sql { try $0.execute(sql: change) }
      let before = try scratch.bytes("queue.sqlite")
      let error = try await scratch.refusal { $0.ifDamaged = .startEmpty }
      #expect(error.code == .io)
      #expect(error.message.contains("not a queue of Haul"))
      #expect(try scratch.bytes("queue.sqlite") == before)
    }
  }

  @Test(arguments: ["", "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"])
  func `completes a store whose creation was interrupted`(_ made: String) async throws {
    let scratch = Scratch()
    try FileManager.default.createDirectory(
      atPath: scratch.path, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try scratch.put([], as: "queue.sqlite")
    if !made.isEmpty { try scratch.sql { try $0.execute(sql: made) } }
    try scratch.setMode(0o600, of: "queue.sqlite")
    let store = try await scratch.open()
    let added = try records(2)
    try await store.commit(adding(added))
    #expect(try await store.records(where: RecordQuery()) == added)
    await store.close()
  }

  @Test func `has the documented settings`() async throws {
    let scratch = Scratch()
    try await scratch.open().close()
    let settings = try ["application_id", "user_version", "journal_mode"].map { name in
      try scratch.sql { try String.fetchOne($0, sql: "PRAGMA \(name)") }
    }
    #expect(settings == ["1214346604", "8", "wal"])
    let migrations = try scratch.sql {
      try String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations")
    }
    #expect(
      migrations == [
        "v1", "v2: files that are somebody's own", "v3: places of bytes", "v4: reasons to wait",
        "v5: requested starts", "v6: texts of forms", "v7: remote sources of uploads",
        "v8: dates",
      ])
    #expect(try String(decoding: scratch.bytes("queue.lock"), as: UTF8.self) == "closed\n")
  }
}
