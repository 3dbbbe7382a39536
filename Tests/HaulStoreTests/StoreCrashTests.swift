import HaulCore
import HaulStore
import Testing

/// A store whose process is killed.
@Suite
struct StoreCrashTests {
  /// Each member's rank and whether it has a result, which distinguishes all states.
  private func state(_ store: SQLiteStore) async throws -> Contents { try await store.contents() }

  /// The n-th of a sequence of changes of every kind.
  private func change(_ number: Int, _ ids: inout Ids, _ last: [TransferID]) throws -> StoreChange {
    var change = adding(
      try (0..<5).map { try record(ids.id(), rank: Int64(number * 10 + $0)) })
    change.updated = last.map { id in
      StoreChange.Update(
        id: id, storedState: sampleStoredState(rank: Int64(number * 10 + 9)),
        result: TransferResult(state: .completed, path: "p\(number)"))
    }
    change.removed = last.prefix(2).map { $0 }
    change.events = [
      StoredEvent(number: number, id: change.added[0].id, kind: .added(target: "\(number)"))
    ]
    change.batch = .init(key: "\(number)", ids: change.added.map(\.id))
    return change
  }

  @Test
  func `has the committed records after each commit, whatever follows in its log`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids(seed: 11)
    var last: [TransferID] = []
    // The length of the log after each commit, and the contents.
    var commits = [
      (log: try scratch.bytes("queue.sqlite-wal").count, state: try await state(store))
    ]
    for number in 1...6 {
      let change = try change(number, &ids, last)
      last = change.added.map(\.id)
      try await store.commit(change)
      commits.append((try scratch.bytes("queue.sqlite-wal").count, try await state(store)))
    }
    let (first, end) = (commits[0].log, commits[6].log)
    try #require(zip(commits, commits.dropFirst()).allSatisfy { $0.log < $1.log })
    // At every boundary of a frame, a byte before and after it, and in between.
    let frame = 24 + 4096
    var cuts = stride(from: first, through: end, by: frame).flatMap { [$0 - 1, $0, $0 + 1] }
    cuts += (0..<20).map { _ in Int(ids.next() % UInt64(end - first)) + first }
    for cut in cuts.filter({ (first...end).contains($0) }) {
      let copy = try scratch.copy(logBytes: cut)
      let found = try await copy.open()
      let expected = try #require(commits.last { $0.log <= cut })
      #expect(try await state(found) == expected.state, "log cut at \(cut)")
      #expect(found.damage == nil)
      await found.close()
    }
    await store.close()
  }

  @Test func `has nothing of a change that was being written`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    let small = try records(50)
    try await store.commit(adding(small))
    let before = try await state(store)
    let start = try scratch.bytes("queue.sqlite-wal").count
    // More than the page cache holds, so that parts are in the log before the end of the change.
    let big = try records(60_000, from: 1000, seed: 7)
    let copies = try await withThrowingTaskGroup { group in
      group.addTask {
        try await store.commit(adding(big))
        return [Scratch]()
      }
      group.addTask {
        var copies: [Scratch] = []
        while copies.count < 3, try await store.open().members.count == 50 {
          let size = try scratch.bytes("queue.sqlite-wal").count
          if size > start { copies.append(try scratch.copy()) }
        }
        return copies
      }
      return try await group.reduce(into: [Scratch]()) { $0 += $1 }
    }
    for copy in copies {
      let found = try await copy.open()
      let contents = try await state(found)
      #expect(contents == before || contents.members.count == 60_050)
      await found.close()
    }
    #expect(try await store.open().members.count == 60_050)
    await store.close()
  }

  @Test func `continues after the next commit as if there had been no crash`() async throws {
    let scratch = Scratch()
    let store = try await scratch.open()
    var ids = Ids(seed: 12)
    try await store.commit(try change(1, &ids, []))
    var copy = try scratch.copy()
    await store.close()
    for number in 2...5 {
      let next = try await copy.open()
      try await next.commit(try change(number, &ids, []))
      #expect(try await next.open().members.count == number * 5)
      #expect(try await next.open().lastEvent == number)
      let later = try copy.copy()
      await next.close()
      copy = later
    }
  }
}
