import FoundationEssentials
import GRDB
import HaulCore
import HaulStore
import Testing

/// A store that is read without being opened, and the search for addresses.
@Suite struct StoredRecordsTests {
  private func fill(_ store: any Store) async throws -> [TransferRecord] {
    let all = try records(5)
    try await store.commit(adding(all))
    return all
  }

  @Test func `is read in both orders while it is in use, and after`() async throws {
    let scratch = Scratch()
    let subject = StoredRecords(directory: scratch.path)
    #expect(!subject.exists)
    let store = try await scratch.open()
    let ids = try await fill(store).map(\.id)
    #expect(subject.exists)
    #expect(try await subject.read { record, _ in record.id } == ids)
    let newest = try await subject.read(fromEnd: true, atMost: 2) { record, _ in record.id }
    #expect(newest == [ids[4], ids[3]])
    let one = try await subject.read { record, _ in record.id == ids[3] ? record.id : nil }
    #expect(one == [ids[3]])
    await store.close()
    #expect(try await subject.read { record, _ in record.id } == ids)
    let again = try await scratch.open()
    #expect(try await again.records(ids).count == ids.count)
    await again.close()
  }

  @Test func `nothing is written, and the mark of a clean close stays`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    _ = try await fill(store)
    await store.close()
    let (database, lock) = (try scratch.bytes("queue.sqlite"), try scratch.bytes("queue.lock"))
    _ = try await StoredRecords(directory: scratch.path).read { record, _ in record.id }
    #expect(try scratch.bytes("queue.sqlite") == database)
    #expect(try scratch.bytes("queue.lock") == lock)
  }

  @Test func `another version and another program's database are refused`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    await store.close()
    for (version, advice) in [(1, "haul daemon start"), (1000, "newer version")] {
      try scratch.sql { try $0.execute(sql: "PRAGMA user_version = \(version)") }
      let error = await #expect(throws: TransferError.self) {
        try await StoredRecords(directory: scratch.path).read { record, _ in record.id }
      }
      #expect(error?.message.contains(advice) == true, "\(String(describing: error))")
    }
    try scratch.sql { try $0.execute(sql: "PRAGMA application_id = 1") }
    await #expect(throws: TransferError.self) {
      try await StoredRecords(directory: scratch.path).read { record, _ in record.id }
    }
  }

  @Test func `the queued and paused members of an address are found`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids(seed: 7)
    let all = try StoredStatus.allCases.enumerated().map { index, status in
      try record(ids.id(), rank: Int64(index), status: status)
    }
    try await store.commit(adding(all))
    let wanted = all.filter { [.queued, .paused].contains($0.storedState.status) }
    let addresses = all.compactMap { $0.request.url?.redacted }
    #expect(try await store.unended(at: addresses + ["http://other/\"%"]) == wanted.map(\.id))
    #expect(try await store.unended(at: ["http://other/"]).isEmpty)
    await store.close()
  }
}
