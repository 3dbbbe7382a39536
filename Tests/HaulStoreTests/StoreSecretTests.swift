import GRDB
import HaulCore
import HaulStore
import Testing

/// Secrets of requests.
@Suite
struct StoreSecretTests {
  private static let canaries = [
    "canary-token", "canary-user", "canary-password", "canary-bearer", "canary-cookie",
  ]
  private static let uploadCanaries = [
    "canary-access", "canary-secret", "canary-session", "canary-text", "canary-source",
    "canary-field", "canary-signature",
  ]

  private func secretive(_ ids: inout Ids) throws -> TransferRecord {
    let address = "https://canary-user:canary-password@example.com/f?signature=canary-token"
    return try record(ids.id()) { request in
      var download = DownloadRequest(url: try ResourceURL(address), to: .stream)
      download.headers = [("Authorization", "Bearer canary-bearer"), ("Cookie", "canary-cookie")]
      request.work = .download(download)
    }
  }

  /// A form with secret texts, and an upload to an S3 store.
  private func secretiveUploads(_ ids: inout Ids) throws -> [TransferRecord] {
    let form = UploadRequest(
      form: [
        FormPart("t", .text("canary-text \u{0} \"é\"")), FormPart("f", .file("/d/f")),
        FormPart("u", .text("")), FormPart("v", .text("canary-text 2")),
      ], to: try ResourceURL("https://example.com/form"))
    let store = UploadRequest(
      "/d/f", to: try S3Object(bucket: "bucket", key: "k", region: "eu-central-1"),
      credentials: S3Credentials(
        accessKeyID: "canary-access", secretAccessKey: "canary-secret+/=",
        sessionToken: "canary-session"))
    var download = DownloadRequest(
      url: try ResourceURL("https://u:canary-source@example.com/f?sig=canary-signature"),
      to: .stream)
    download.headers = [("Cookie", "canary-field")]
    download.checksums = [Checksum("md5=" + String(repeating: "0a", count: 16))].compactMap(\.self)
    (download.maximumSize, download.connections) = (7, 2)
    let remote = UploadRequest(from: download, to: try ResourceURL("https://example.com/k"))
    return try [form, store, remote].map { upload in
      try record(ids.id()) { $0.work = .upload(upload) }
    }
  }

  @Test func `of uploads are in no column of any other table, and are read back`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    let records = try secretiveUploads(&ids)
    try await store.commit(adding(records))
    #expect(try await store.records(records.map(\.id)) == records)
    await store.close()
    let findings = try scratch.sql(findings)
    #expect(Set(findings.map(\.canary)) == Set(Self.uploadCanaries))
    #expect(Set(findings.map(\.table)) == ["secrets"])
  }

  @Test func `of uploads to abort are removed once these have ended`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    let record = try secretiveUploads(&ids)[1]
    var change = StoreChange()
    change.pendingAborts = [
      PendingAbort(id: record.id, request: try #require(record.request.upload))
    ]
    try await store.commit(change)
    #expect(Set(try scratch.sql(findings).map(\.table)) == ["secret_aborts"])
    var ended = StoreChange()
    ended.endedAborts = [record.id]
    try await store.commit(ended)
    for name in ["queue.sqlite", "queue.sqlite-wal"] {
      let text = String(decoding: try scratch.bytes(name), as: UTF8.self)
      #expect(!Self.uploadCanaries.contains { text.contains($0) })
    }
    await store.close()
  }

  @Test
  func `of forms leave the requests when a list of an older version is opened`() async throws {
    let scratch = Scratch()
    var store = try await scratch.open()
    var ids = Ids()
    // The older version knew no remote sources.
    let records = Array(try secretiveUploads(&ids).prefix(2))
    try await store.commit(adding(records))
    await store.close()
    try scratch.sql { db in
      for statement in [
        """
        UPDATE requests SET form = replace(form, '"_0":""', '"_0":' ||
          coalesce((SELECT form_texts -> 0 FROM secrets s WHERE s.member = requests.member), 1))
        """,
        "ALTER TABLE secrets DROP COLUMN form_texts", "DROP TABLE secret_aborts",
        "ALTER TABLE secrets DROP COLUMN source",
        "ALTER TABLE members DROP COLUMN added", "ALTER TABLE members DROP COLUMN ended",
        "DELETE FROM grdb_migrations WHERE identifier >= 'v6'",
        "PRAGMA user_version = 5",
      ] { try db.execute(sql: statement) }
    }
    #expect(try scratch.sql(findings).contains { $0.table == "requests" })
    store = try await scratch.open()
    var old = records
    let first = try #require(records[0].request.upload?.form[0].content)
    var parts = records[0].request.upload?.form ?? []
    for index in [0, 2, 3] { parts[index].content = first }
    old[0].request.upload?.source = .form(parts)
    #expect(try await store.records(records.map(\.id)) == old)
    await store.close()
    #expect(try scratch.sql(findings).allSatisfy { $0.table == "secrets" })
    let file = String(decoding: try scratch.bytes("queue.sqlite"), as: UTF8.self)
    #expect(file.ranges(of: "canary-text").count == 3)
  }

  @Test func `are in no column of any other table`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    var record = try secretive(&ids)
    var change = adding([record])
    change.events = [
      StoredEvent(
        number: 1, id: record.id, kind: .added(target: record.request.download?.url.redacted))
    ]
    change.batch = .init(key: "k", ids: [record.id])
    try await store.commit(change)
    record.result = TransferResult(state: .failed, error: TransferError(.unauthorized, "401"))
    try await store.commit(
      updating([
        .init(
          id: record.id, storedState: record.storedState, result: record.result,
          request: record.request)
      ]))
    #expect(try await store.records([record.id]) == [record])
    await store.close()
    let findings = try scratch.sql(findings)
    #expect(Set(findings.map(\.canary)) == Set(Self.canaries))
    #expect(Set(findings.map(\.table)) == ["secrets"])
  }

  private struct Finding: Hashable {
    var table: String
    var canary: String
  }

  /// Every table and index of the database that contains a canary, as text or bytes.
  private func findings(_ db: Database) throws -> Set<Finding> {
    let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
    #expect(tables.count >= 8)
    var findings: Set<Finding> = []
    for table in tables {
      for row in try Row.fetchAll(db, sql: "SELECT * FROM \(table)") {
        let text = row.databaseValues.map { value in
          switch value.storage {
          case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
          default: value.description
          }
        }.joined(separator: " ")
        for canary in Self.canaries + Self.uploadCanaries where text.contains(canary) {
          findings.insert(Finding(table: table, canary: canary))
        }
      }
    }
    return findings
  }

  @Test func `are removed with their member`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    let record = try secretive(&ids)
    try await store.commit(adding([record]))
    try await store.commit(removing([record.id]))
    await store.close()
    #expect(try scratch.sql(findings).isEmpty)
    // Nor do their bytes remain in the file.
    let file = String(decoding: try scratch.bytes("queue.sqlite"), as: UTF8.self)
    for canary in Self.canaries { #expect(!file.contains(canary), "\(canary)") }
  }

  /// Whether a canary is in any file of the store.
  private func isInFiles(_ scratch: Scratch) throws -> Bool {
    try ["queue.sqlite", "queue.sqlite-wal"].contains { name in
      let text = String(decoding: try scratch.bytes(name), as: UTF8.self)
      return Self.canaries.contains { text.contains($0) }
    }
  }

  @Test func `are in no file once they are removed, while the store is open`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    let record = try secretive(&ids)
    try await store.commit(adding([record]))
    #expect(try isInFiles(scratch))
    try await store.commit(removing([record.id]))
    #expect(try !isInFiles(scratch))
    try await store.commit(adding([record]))
    _ = try await replaceSecrets(of: record, in: store)
    #expect(try !isInFiles(scratch))
    await store.close()
  }

  @Test func `do not stay in the log that a killed process left`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    try await store.commit(adding([try secretive(&ids)]))
    let killed = try scratch.copy()
    let next = try await killed.open()
    #expect(try killed.bytes("queue.sqlite-wal").isEmpty)
    await next.close()
    await store.close()
  }

  /// Gives a record a request without secrets; returns the new record.
  private func replaceSecrets(
    of record: TransferRecord, in store: SQLiteStore
  ) async throws -> TransferRecord {
    let plain = try HaulStoreTests.record(record.id)
    try await store.commit(
      updating([.init(id: record.id, storedState: plain.storedState, request: plain.request)]))
    return plain
  }

  @Test func `are removed with their request`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids()
    let record = try secretive(&ids)
    try await store.commit(adding([record]))
    let plain = try await replaceSecrets(of: record, in: store)
    #expect(try await store.records([record.id]) == [plain])
    await store.close()
    #expect(try scratch.sql(findings).isEmpty)
  }
}
