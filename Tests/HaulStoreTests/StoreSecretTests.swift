import GRDB
import HaulCore
import HaulStore
import Testing

@Suite("Secrets of requests")
struct StoreSecretTests {
  private static let canaries = [
    "canary-token", "canary-user", "canary-password", "canary-bearer", "canary-cookie",
  ]

  private func secretive(_ ids: inout Ids) throws -> TransferRecord {
    let address = "https://canary-user:canary-password@example.com/f?signature=canary-token"
    return try record(ids.id()) { request in
      var download = DownloadRequest(url: try ResourceURL(address), to: .stream)
      download.headers = [("Authorization", "Bearer canary-bearer"), ("Cookie", "canary-cookie")]
      request.work = .download(download)
    }
  }

  @Test("are in no column of any other table")
  func columns() async throws {
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
        for canary in Self.canaries where text.contains(canary) {
          findings.insert(Finding(table: table, canary: canary))
        }
      }
    }
    return findings
  }

  @Test("are removed with their member")
  func removal() async throws {
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

  @Test("are in no file once they are removed, while the store is open")
  func log() async throws {
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

  @Test("do not stay in the log that a killed process left")
  func logOfKilled() async throws {
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

  @Test("are removed with their request")
  func replacement() async throws {
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
