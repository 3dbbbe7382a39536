import FoundationEssentials
import GRDB
import HaulCore
import HaulStore
import Testing

/// A damaged store.
@Suite
struct StoreDamageTests {
  /// A closed store with some members, damaged by `damage`.
  private func damaged(_ damage: (Scratch) throws -> Void) async throws -> Scratch {
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(records(2000)))
    await store.close()
    try damage(scratch)
    return scratch
  }

  /// Overwrites pages in the middle, like a disk that lost them.
  private func scribble(_ scratch: Scratch) throws {
    var bytes = try scratch.bytes("queue.sqlite")
    try #require(bytes.count > 40 * 4096)
    for index in (10 * 4096)..<(30 * 4096) { bytes[index] = UInt8(truncatingIfNeeded: index * 7) }
    try scratch.put(bytes, as: "queue.sqlite")
  }

  private func markUnclean(_ scratch: Scratch) throws {
    try scratch.put("open 999999999 1 haul\n".utf8, as: "queue.lock")
  }

  @Test func `is refused after an unclean end, and not changed`() async throws {
    let scratch = try await damaged { scratch in
      try scribble(scratch)
      try markUnclean(scratch)
    }
    let before = try scratch.bytes("queue.sqlite")
    for _ in 1...2 {
      let error = try await scratch.refusal()
      #expect(error.code == .io)
      #expect(error.message.contains("queue.sqlite is damaged"))
    }
    #expect(try scratch.bytes("queue.sqlite") == before)
    #expect(try !scratch.names.contains { $0.contains("corrupt") })
  }

  @Test
  func `is moved aside completely if configured, and the new path is reported`() async throws {
    let scratch = try await damaged { scratch in
      try scribble(scratch)
      try markUnclean(scratch)
    }
    let before = try scratch.bytes("queue.sqlite")
    try scratch.put([1, 2, 3], as: "queue.sqlite-wal")
    let store = try await scratch.open { $0.ifDamaged = .startEmpty }
    let damage = try #require(store.damage)
    #expect(damage.code == .io)
    #expect(damage.message.contains("\(scratch.database).corrupt-0"))
    #expect(try await store.open().members.isEmpty)
    #expect(try scratch.bytes("queue.sqlite.corrupt-0") == before)
    #expect(try scratch.bytes("queue.sqlite.corrupt-0-wal") == [1, 2, 3])
    try await store.commit(adding(records(2)))
    await store.close()
    let next = try await scratch.open { $0.ifDamaged = .startEmpty }
    #expect(next.damage == nil)
    #expect(try await next.open().members.count == 2)
    await next.close()
  }

  @Test func `is detected at once if it is unreadable, even after a clean end`() async throws {
    let scratch = try await damaged {
      try $0.put(Array(repeating: 65, count: 9000), as: "queue.sqlite")
    }
    #expect(try await scratch.refusal().message.contains("is damaged"))
    let store = try await scratch.open { $0.ifDamaged = .startEmpty }
    #expect(store.damage != nil)
    await store.close()
    // A second one in the same second gets another name.
    try scratch.put(Array(repeating: 66, count: 9000), as: "queue.sqlite")
    let again = try await scratch.open { $0.ifDamaged = .startEmpty }
    #expect(again.damage?.message.contains("corrupt-0-2") == true)
    await again.close()
    #expect(try scratch.bytes("queue.sqlite.corrupt-0") == Array(repeating: 65, count: 9000))
  }

  @Test(arguments: [true, false])
  func `is one of 0 bytes that was in use before, closed or not`(isClosed: Bool) async throws {
    let scratch = try await damaged { scratch in
      try scratch.put([], as: "queue.sqlite")
      guard !isClosed else { return }
      try markUnclean(scratch)
      try scratch.put([], as: "queue.sqlite-wal")
    }
    for _ in 1...2 {
      #expect(try await scratch.refusal().message.contains("is damaged (it has 0 bytes)"))
    }
    #expect(try scratch.bytes("queue.sqlite").isEmpty)
    let store = try await scratch.open { $0.ifDamaged = .startEmpty }
    #expect(store.damage != nil)
    await store.close()
  }

  @Test
  func `is a log without its database: the log is not used for a new database`() async throws {
    let source = Scratch()
    let store = try await source.open()
    try await store.commit(adding(records(3)))
    let scratch = try source.copy()
    await store.close()
    try FileManager.default.removeItem(atPath: scratch.database)
    #expect(try await scratch.refusal().message.contains("is damaged"))
    let next = try await scratch.open { $0.ifDamaged = .startEmpty }
    #expect(next.damage != nil)
    #expect(try await next.open().members.isEmpty)
    #expect(try scratch.names.contains("queue.sqlite.corrupt-0-wal"))
    await next.close()
  }

  @Test func `that is detected while open makes the next opening check everything`() async throws {
    let scratch = try await damaged(scribble)
    // It was closed normally, so it is not checked.
    let store = try await scratch.open()
    let error = try await failure {
      _ = try await store.open()
      _ = try await store.records(where: RecordQuery(atMost: 5000))
      try await store.commit(adding(records(2000, from: 5000, seed: 4)))
    }
    #expect(error.code == .io)
    #expect(error.message.contains("damaged"))
    await store.close()
    #expect(try await scratch.refusal().message.contains("queue.sqlite is damaged"))
  }

  @Test
  func `A full disk fails the change as a whole, and the next one that fits is stored`()
    async throws
  {
    let scratch = Scratch()
    let store = try await scratch.open { $0.maximumSize = 400 << 10 }
    let first = try records(20)
    try await store.commit(adding(first))
    let before = try await store.contents()
    var change = adding(try records(20_000, from: 100, seed: 2))
    change.updated = first.map { .init(id: $0.id, storedState: sampleStoredState(rank: 1)) }
    change.removed = [first[0].id]
    change.batch = .init(key: "k", ids: [])
    change.events = [StoredEvent(number: 1, id: first[0].id, kind: .added(target: nil))]
    let error = try await failure { try await store.commit(change) }
    #expect(error.code == .diskFull)
    #expect(error.message.contains("free some space"))
    #expect(try await store.contents() == before)
    #expect(try await store.batch("k") == nil)
    try await store.commit(removing([first[0].id]))
    await store.close()
    let next = try await scratch.open()
    #expect(try await next.open().members.map(\.id) == first.dropFirst().map(\.id))
    await next.close()
  }
}
