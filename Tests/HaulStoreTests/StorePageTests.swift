import HaulCore
import Testing

/// Every store, read in parts.
@Suite
struct StorePageTests {
  /// Members of all states and two groups, in random order.
  private func fill(_ store: any Store) async throws -> [TransferRecord] {
    var ids = Ids(seed: 3)
    let all = try (0..<60).map { index in
      try record(
        ids.id(), rank: Int64(index) * 10 - 200,
        status: StoredStatus.allCases[index % StoredStatus.allCases.count]
      ) { $0.group = [nil, "a", "b"][index % 3] }
    }
    try await store.commit(adding(all.shuffled(using: &ids)))
    return all
  }

  @Test(arguments: StoreImplementation.allCases, [nil, "a", "b", "none"] as [String?])
  func `pages by state and group in the order of ranks, each record once`(
    _ subject: StoreImplementation, _ group: String?
  ) async throws {
    try await subject.use { store in
      let all = try await fill(store)
      for statuses in [nil, [.queued], [.failed, .paused], Set(StoredStatus.allCases), []]
        as [Set<StoredStatus>?]
      {
        var query = RecordQuery(statuses: statuses, group: group, atMost: 4)
        let expected = all.filter {
          (statuses?.contains($0.storedState.status) ?? true)
            && (group == nil || $0.request.group == group)
        }
        var found: [TransferRecord] = []
        while true {
          let page = try await store.records(where: query)
          #expect(page.count <= 4)
          found += page
          guard let last = page.last else { break }
          query.afterRank = last.storedState.rank
        }
        #expect(found == expected)
      }
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `returns nothing for a page of no length`(_ subject: StoreImplementation) async throws {
    try await subject.use { store in
      _ = try await fill(store)
      #expect(try await store.records(where: RecordQuery(atMost: 0)).isEmpty)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `orders members of the same rank by their ids`(_ subject: StoreImplementation) async throws {
    try await subject.use { store in
      var ids = Ids(seed: 8)
      let all = try (0..<9).map { _ in try record(ids.id(), rank: 1) }
      try await store.commit(adding(all))
      let sorted = all.map(\.id).sorted()
      #expect(try await store.open().members.map(\.id) == sorted)
      let page = try await store.records(where: RecordQuery(atMost: 4))
      #expect(page.map(\.id) == Array(sorted.prefix(4)))
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `remembers the ids of a batch, in order, even after their removal`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      let added = try records(30)
      var change = adding(added)
      change.batch = .init(key: "import \u{0}1", ids: added.map(\.id))
      try await store.commit(change)
      try await store.commit(removing([added[4].id]))
      #expect(try await store.batch("import \u{0}1") == added.map(\.id))
      #expect(try await store.batch("import \u{0}2") == nil)
      var nothing = StoreChange()
      nothing.batch = .init(key: "empty", ids: [])
      try await store.commit(nothing)
      #expect(try await store.batch("empty") == [])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `forgets the oldest keys of batches`(_ subject: StoreImplementation) async throws {
    try await subject.use(keyLimit: 3) { store in
      for number in 0..<5 {
        var change = StoreChange()
        change.batch = .init(key: "\(number)", ids: [])
        try await store.commit(change)
      }
      for number in 0..<5 {
        #expect(try await store.batch("\(number)") == (number < 2 ? nil : []))
      }
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `returns events from a number on, and nil if the log no longer has that number`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      var ids = Ids()
      let id = ids.id()
      let kept = subject.eventLogLimit
      let first = reporting(1...5, id)
      try await store.commit(first)
      #expect(try await store.open().lastEvent == 5)
      #expect(try await store.events(from: 1, atMost: 3) == Array(first.events.prefix(3)))
      #expect(try await store.events(from: 4, atMost: 9) == Array(first.events.suffix(2)))
      #expect(try await store.events(from: 6, atMost: 9) == [])
      #expect(try await store.events(from: 0, atMost: 9) == nil)
      try await store.commit(reporting(6...(kept + 3), id))
      #expect(try await store.events(from: 3, atMost: 1) == nil)
      #expect(try await store.events(from: 4, atMost: 1)?.map(\.number) == [4])
      // One change with more events than are kept.
      try await store.commit(reporting((kept + 4)...(kept * 3), id))
      #expect(try await store.open().lastEvent == kept * 3)
      #expect(try await store.events(from: kept * 2, atMost: 1) == nil)
      #expect(try await store.events(from: kept * 2 + 1, atMost: .max)?.count == kept)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `keeps the number of the newest event after all members are removed`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use(with: 1) { store, added in
      try await store.commit(reporting(1...3, added[0].id))
      try await store.commit(removing([added[0].id]))
      #expect(try await store.open().lastEvent == 3)
      #expect(try await store.events(from: 1, atMost: 9)?.count == 3)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `shows readers only whole changes, while others are written`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      let all = try records(200)
      try await store.commit(adding(all))
      try await withThrowingTaskGroup { group in
        group.addTask {
          for round in 1...30 {
            try await store.commit(
              updating(
                all.map { record in
                  var storedState = record.storedState
                  storedState.priority = TransferRequest.Priority.allCases[round % 5]
                  storedState.hasRun = round.isMultiple(of: 2)
                  return .init(id: record.id, storedState: storedState)
                }))
          }
        }
        group.addTask {
          for _ in 1...30 {
            let found = try await store.records(where: RecordQuery(atMost: 500))
            #expect(found.count == 200)
            #expect(Set(found.map(\.storedState.priority)).count == 1)
            let members = try await store.open().members
            #expect(Set(members.map(\.storedState.hasRun)).count == 1)
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `finishes a change whose task was cancelled`(_ subject: StoreImplementation) async throws {
    try await subject.use { store in
      let all = try records(3)
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await store.commit(adding(all))
        return try await store.open().members.count
      }
      #expect(try await task.value == 3)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `keeps any text: with U+0000, emoji, combining marks, quotes, and very long`(
    _ subject: StoreImplementation
  ) async throws {
    let texts = [
      "", "a\u{0}b", "\u{0}", "👩‍👩‍👧‍👦", "e\u{301}", "'; DROP TABLE members; --", "\u{202E}\u{7}\n\t\"\\",
      String(repeating: "long ß ", count: 20_000), "\u{FFFD}\u{FEFF}\u{10FFFF}",
    ]
    try await subject.use { store in
      var ids = Ids()
      for (rank, text) in texts.enumerated() {
        var record = try record(ids.id(), rank: Int64(rank)) {
          $0.identifier = text
          $0.group = text
          $0.after = [text]
          $0.work = .step(StepRequest(.program([text, text], directory: text)))
        }
        record.result = TransferResult(
          state: .failed, path: text, error: TransferError(.io, text))
        var change = adding([record])
        change.events = [StoredEvent(number: rank + 1, id: record.id, kind: .added(target: text))]
        change.batch = .init(key: text, ids: [record.id])
        try await store.commit(change)
        #expect(try await store.records([record.id]) == [record])
        #expect(try await store.records(where: RecordQuery(group: text)) == [record])
        #expect(try await store.batch(text) == [record.id])
        #expect(try await store.events(from: rank + 1, atMost: 1) == change.events)
        let member = try #require(try await store.open().members.last)
        #expect(member == QueuedMember(record))
      }
    }
  }
}
