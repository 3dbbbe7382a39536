import HaulCore
import Testing

/// Every store.
@Suite
struct StoreConformanceTests {
  @Test(arguments: StoreImplementation.allCases)
  func `is empty at first`(_ subject: StoreImplementation) async throws {
    try await subject.use { store in
      let queue = try await store.open()
      #expect(queue.members.isEmpty)
      #expect(queue.lastEvent == 0)
      #expect(try await store.records(where: RecordQuery()).isEmpty)
      #expect(try await store.events(from: 1, atMost: 10) == [])
      #expect(try await store.batch("none") == nil)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `keeps when a record was added and when it ended`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      let added = try records(2)
      var change = adding(added)
      change.time = 1_800_000_000.125
      try await store.commit(change)
      let ids = added.map(\.id)
      #expect(try await store.records(ids).map(\.added) == [change.time, change.time])
      #expect(try await store.records(ids).map(\.ended) == [nil, nil])
      let ends: [(Double, TransferResult?)] = [
        (1_800_000_001, TransferResult(state: .cancelled)), (1_800_000_002.5, nil),
        (1_800_000_003.5, TransferResult(state: .failed, path: "/p")),
      ]
      for (time, result) in ends {
        change = StoreChange()
        change.time = time
        change.updated = [.init(id: ids[1], storedState: added[1].storedState, result: result)]
        try await store.commit(change)
        let ended = result == nil ? 1_800_000_001 : time
        #expect(try await store.records(ids).map(\.ended) == [nil, ended])
      }
      #expect(try await store.records(ids).map(\.added) == [1_800_000_000.125, 1_800_000_000.125])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `returns added records in the order of the ranks`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      let added = try records(20)
      try await store.commit(adding(added.reversed()))
      #expect(try await store.open().members == added.map(QueuedMember.init))
      #expect(try await store.records(where: RecordQuery()) == added)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `finds records by id, in the order of the ids, without unknown ones`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use(with: 5) { store, added in
      var others = Ids(seed: 99)
      let found = try await store.records([added[3].id, others.id(), added[0].id, added[3].id])
      #expect(found == [added[3], added[0], added[3]])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `removes satisfied ids from the dependencies of others`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      var ids = Ids()
      let (done, other) = (try record(ids.id()), try record(ids.id(), rank: 1))
      let behind = try record(ids.id(), rank: 2) {
        $0.after = [done.id, other.id]
      }
      try await store.commit(adding([done, other, behind]))
      var change = StoreChange()
      change.removed = [done.id]
      change.satisfiedDependencies = [done.id]
      try await store.commit(change)
      #expect(try await store.open().members.map(\.after) == [[], [other.id]])
      #expect(
        try await store.records([behind.id]).map(\.request.dependencies) == [[.transfer(other.id)]])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `adds nothing of a change with an existing id, or an id twice`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      let first = try records(3)
      try await store.commit(adding(first))
      let before = try await store.contents()
      let new = try records(3, from: 10, seed: 2)
      for again in [first[1], new[0]] {
        var change = adding(new + [again])
        change.events = [StoredEvent(number: 1, id: new[0].id, kind: .added(target: nil))]
        change.batch = .init(key: "k", ids: new.map(\.id))
        let error = try await failure { try await store.commit(change) }
        #expect(error.code == .io)
        #expect(try await store.contents() == before)
        #expect(try await store.batch("k") == nil)
      }
      try await store.commit(adding(new))
      #expect(try await store.open().members.count == 6)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `adds nothing of a change with an identifier that is taken`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      var ids = Ids()
      let first = try record(ids.id()) { $0.identifier = "disk" }
      try await store.commit(adding([first]))
      let before = try await store.contents()
      let other = try record(ids.id(), rank: 1)
      let same = try record(ids.id(), rank: 2) { $0.identifier = "disk" }
      let error = try await failure { try await store.commit(adding([other, same])) }
      #expect(error.code == .io)
      #expect(try await store.contents() == before)
      let twice = try [ids.id(), ids.id()].map { try record($0) { $0.identifier = "twin" } }
      _ = try await failure { try await store.commit(adding(twice)) }
      #expect(try await store.contents() == before)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `frees an identifier with its member, and takes one that is given later`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      var ids = Ids()
      let first = try record(ids.id()) { $0.identifier = "disk" }
      let second = try record(ids.id(), rank: 1)
      try await store.commit(adding([first, second]))
      var named = second.request
      named.identifier = "disk"
      let naming = StoreChange.Update(
        id: second.id, storedState: second.storedState, request: named)
      _ = try await failure { try await store.commit(updating([naming])) }
      #expect(try await store.records([second.id]).first?.request.identifier == nil)
      try await store.commit(removing([first.id]))
      try await store.commit(updating([naming]))
      #expect(try await store.open().members.map(\.identifier) == ["disk"])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `updates a state, a result and a request, each separately`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      var (one, two) = (try records(2)[0], try records(2)[1])
      try await store.commit(adding([one, two]))
      one.storedState = sampleStoredState(rank: 7)
      one.result = TransferResult(state: .failed, error: TransferError(.dns, "no such host"))
      try await store.commit(
        updating([.init(id: one.id, storedState: one.storedState, result: one.result)]))
      #expect(try await store.records([one.id, two.id]) == [one, two])
      one.storedState.rank = -3
      one.request = try fullRequest(after: [two.id])
      try await store.commit(
        updating([.init(id: one.id, storedState: one.storedState, request: one.request)]))
      #expect(try await store.records([two.id, one.id]) == [two, one])
      #expect(try await store.open().members == [one, two].map(QueuedMember.init))
      one.result = TransferResult(state: .completed, path: "/tmp/x", bytes: 9)
      one.request = try records(1)[0].request
      try await store.commit(
        updating([
          .init(id: one.id, storedState: one.storedState, result: one.result, request: one.request)
        ]))
      #expect(try await store.records([one.id]) == [one])
      #expect(try await store.open().members == [one, two].map(QueuedMember.init))
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `ignores unknown ids`(_ subject: StoreImplementation) async throws {
    try await subject.use(with: 2) { store, added in
      let before = try await store.contents()
      var ids = Ids(seed: 5)
      let stranger = try record(ids.id())
      try await store.commit(
        updating([
          .init(
            id: stranger.id, storedState: sampleStoredState(rank: 1),
            result: TransferResult(state: .cancelled), request: try fullRequest(after: []))
        ]))
      try await store.commit(removing([stranger.id]))
      #expect(try await store.contents() == before)
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `removes members completely`(_ subject: StoreImplementation) async throws {
    try await subject.use { store in
      var added = try records(4)
      added[1].request = try fullRequest(after: [added[0].id])
      added[1].result = TransferResult(state: .cancelled)
      try await store.commit(adding(added))
      try await store.commit(removing([added[1].id, added[2].id]))
      #expect(try await store.records(where: RecordQuery()) == [added[0], added[3]])
      // The same id again has no data of the old one.
      let again = try record(added[1].id, rank: 1)
      try await store.commit(adding([again]))
      #expect(try await store.records([again.id]) == [again])
      #expect(try await store.open().members.map(\.after) == [[], [], []])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `keeps the last process of each member that is under way, and of no other`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      var added = try records(3)
      for index in added.indices { added[index].storedState.wasRunning = true }
      let processes = [
        ProcessIdentity(pid: 4_194_303, start: .max, boot: "one"),
        ProcessIdentity(pid: 2, start: 1, boot: "two"), ProcessIdentity(pid: 3, start: 2, boot: ""),
      ]
      let programs = zip(added, processes).map { StoredProcess(id: $0.id, process: $1) }
      var change = adding(added)
      change.programs = programs
      try await store.commit(change)
      #expect(Set(try await store.open().programs) == Set(programs))
      // Another process of the same member, one of an unknown id, and a removed member.
      var next = removing([added[2].id])
      let another = StoredProcess(
        id: added[0].id, process: ProcessIdentity(pid: 7, start: 9, boot: "two"))
      var ids = Ids(seed: 5)
      next.programs = [another, StoredProcess(id: ids.id(), process: processes[0])]
      try await store.commit(next)
      #expect(Set(try await store.open().programs) == [another, programs[1]])
      var storedState = added[1].storedState
      storedState.wasRunning = false
      try await store.commit(updating([.init(id: added[1].id, storedState: storedState)]))
      #expect(try await store.open().programs == [another])
      storedState.wasRunning = true
      try await store.commit(updating([.init(id: added[1].id, storedState: storedState)]))
      #expect(try await store.open().programs.contains(programs[1]))
      // The same id again has no data of the old one.
      var again = try record(added[2].id, rank: 2)
      again.storedState.wasRunning = true
      try await store.commit(adding([again]))
      #expect(try await !store.open().programs.contains { $0.id == again.id })
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `keeps the locations of bytes of members that will continue, and of no other`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      let added = try records(3)
      let location = FileLocation(
        directory: "/d/\0", device: .max, boot: "one", name: "f", partName: "f.part", length: 7)
      let other = FileLocation(
        directory: ".", device: 0, boot: "", name: "g", partName: "g.part", length: nil)
      var change = adding(added)
      change.locations = added.map { StoredLocation(id: $0.id, location: location) }
      try await store.commit(change)
      #expect(
        try await store.open().locations
          == Dictionary(uniqueKeysWithValues: added.map { ($0.id, location) }))
      // Another location, a removed one, one of an unknown id, and a removed member.
      var next = removing([added[2].id])
      var ids = Ids(seed: 5)
      next.locations = [
        StoredLocation(id: added[0].id, location: other),
        StoredLocation(id: added[1].id, location: nil),
        StoredLocation(id: ids.id(), location: location),
      ]
      try await store.commit(next)
      #expect(try await store.open().locations == [added[0].id: other])
      // The same id again has no data of the old one.
      try await store.commit(adding([try record(added[2].id, rank: 2)]))
      #expect(try await store.open().locations == [added[0].id: other])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `keeps uploads to abort, also of removed members, until they end`(
    _ subject: StoreImplementation
  ) async throws {
    try await subject.use { store in
      let added = try records(2)
      try await store.commit(adding(added))
      let object = try S3Object(bucket: "bucket", key: "k", region: "eu-central-1")
      let aborts = added.map { record in
        PendingAbort(
          id: record.id,
          request: UploadRequest(
            "/f\0", to: object,
            credentials: S3Credentials(
              accessKeyID: "id", secretAccessKey: "a/b+c=", sessionToken: "t")))
      }
      var change = removing([added[0].id])
      change.pendingAborts = aborts.sorted { $0.id < $1.id }
      try await store.commit(change)
      #expect(try await store.open().pendingAborts == change.pendingAborts)
      var ended = StoreChange()
      ended.endedAborts = [aborts[0].id]
      try await store.commit(ended)
      #expect(try await store.open().pendingAborts == [aborts[1]])
    }
  }

  @Test(arguments: StoreImplementation.allCases)
  func `applies a change in order: adds, updates, removals`(_ subject: StoreImplementation)
    async throws
  {
    try await subject.use { store in
      let added = try records(3)
      var change = adding(added)
      change.updated = [.init(id: added[0].id, storedState: sampleStoredState(rank: 50))]
      change.removed = [added[1].id]
      try await store.commit(change)
      #expect(try await store.open().members.map(\.id) == [added[2].id, added[0].id])
    }
  }
}
