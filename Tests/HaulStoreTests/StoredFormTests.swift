import GRDB
import HaulCore
import HaulStore
import Testing

/// Stored forms.
@Suite
struct StoredFormTests {
  /// The names of stored properties that are equal in both.
  private func same<Value>(_ one: Value, _ other: Value) -> [String] {
    zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children)
      .filter { String(reflecting: $0.value) == String(reflecting: $1.value) }
      .compactMap(\.0.label)
  }

  /// Stores it, closes the store, and reads it with another.
  private func roundTrip(_ record: TransferRecord) async throws -> TransferRecord {
    let scratch = Scratch()
    let first = try await scratch.open()
    try await first.commit(adding([record]))
    await first.close()
    let second = try await scratch.open()
    let found = try await second.records([record.id])
    #expect(try await second.open().members == [QueuedMember(record)])
    await second.close()
    return try #require(found.first)
  }

  @Test func `A request is read back with every field and value`() async throws {
    var ids = Ids()
    let plain = DownloadRequest(url: try ResourceURL("http://h/"), to: .stream)
    // A field that has its default there is not tested: set it there.
    #expect(same(plain, try fullDownload()) == [])
    // Set only by the command line, whose list is not stored.
    #expect(same(RetryPolicy(), try fullDownload().retry) == ["isShortAtFirstContact"])
    #expect(same(TransferRequest(.download(plain)), try fullRequest(after: [])) == ["isBackground"])
    #expect(same(StoredState(), sampleStoredState(rank: 9)) == [])
    let full = TransferRecord(
      id: ids.id(), request: try fullRequest(after: [ids.id(), ids.id()]),
      storedState: sampleStoredState(rank: .min), result: try fullResult())
    #expect(try await roundTrip(full) == full)
    let bare = TransferRecord(id: ids.id(), request: TransferRequest(.download(plain)))
    #expect(try await roundTrip(bare) == bare)
  }

  @Test func `Every kind of work and option is read back`() async throws {
    var ids = Ids()
    let address = try ResourceURL("https://example.com/f?sig=%2F&x=1#part")
    var requests = [
      DownloadRequest.Destination.file("f"), .directory(""), .stream,
    ].map { TransferRequest(.download(DownloadRequest(url: address, to: $0))) }
    for way in DownloadRequest.IfExists.allCases {
      requests.append(.download(address, to: .stream) { $0.ifExists = way })
    }
    for algorithm in Checksum.Algorithm.allCases {
      let digest = Checksum(algorithm, bytes: Array(repeating: 0xA5, count: algorithm.byteCount))
      requests.append(.download(address, to: .stream) { $0.checksums = [digest].compactMap { $0 } })
    }
    for method in UploadRequest.Method.allCases {
      for condition in [UploadRequest.Precondition.none, .absent, .entityTag("\"a\"")] {
        requests.append(
          .upload("/d/f", to: address) { ($0.method, $0.precondition) = (method, condition) })
      }
    }
    for way in UploadRequest.IfExists.allCases {
      requests.append(.upload("/d/f", to: address) { $0.ifExists = way })
    }
    requests.append(
      TransferRequest(.upload(UploadRequest(form: [FormPart("f", .file("/f"))], to: address))))
    requests.append(
      .upload("/d/f", to: address) {
        ($0.roots, $0.listed) = (["/d"], FileIdentity(device: 1, inode: 2))
      })
    let object = try S3Object(bucket: "b", key: "k", region: "eu-central-1")
    requests.append(TransferRequest(.upload(UploadRequest("/f", to: object, credentials: nil))))
    let places: [S3KeySource.Place] = [
      .webIdentity(role: "r", session: nil, tokenFile: "/t"),
      .profile(name: "p", configuration: "/c", credentials: nil), .container,
      .instance(address: address),
    ]
    for place in places {
      var upload = UploadRequest("/f", to: object, credentials: nil)
      upload.keySource = S3KeySource(place, region: "r", tokenService: address)
      requests.append(TransferRequest(.upload(upload)))
    }
    let actions: [StepRequest.Action] = [
      .named("unpack"), .named("", input: "i"), .program([]), .program(["a", ""], directory: "/"),
    ]
    for action in actions {
      for isIdempotent in [false, true] {
        var step = StepRequest(action)
        step.isIdempotent = isIdempotent
        requests.append(TransferRequest(.step(step)))
      }
    }
    for priority in TransferRequest.Priority.allCases {
      for policy in TransferRequest.DependencyPolicy.allCases {
        var request = TransferRequest.step("s")
        (request.priority, request.whenDependencyFails) = (priority, policy)
        requests.append(request)
      }
    }
    let all = requests.map { TransferRecord(id: ids.id(), request: $0) }
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(all))
    #expect(try await store.records(all.map(\.id)) == all)
    await store.close()
  }

  @Test func `Each source of an upload is stored as earlier versions stored it`() async throws {
    var ids = Ids()
    let address = try ResourceURL("https://example.com/f")
    var numbered = UploadRequest(to: address)
    numbered.source = .stream(7)
    let download = DownloadRequest(url: address, to: .stream)
    let all = [
      UploadRequest("/d/f", to: address),
      UploadRequest(form: [FormPart("n", .text("v")), FormPart("f", .file("/f"))], to: address),
      UploadRequest(to: address), numbered, UploadRequest(from: download, to: address),
    ].map { TransferRecord(id: ids.id(), request: TransferRequest(.upload($0))) }
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(all))
    #expect(try await store.records(all.map(\.id)) == all)
    await store.close()
    let forms = try scratch.sql {
      try String.fetchAll($0, sql: "SELECT form FROM requests ORDER BY member")
    }
    let parts =
      #"{"content":{"text":{"_0":""}},"name":"n"},{"content":{"file":{"_0":"/f"}},"name":"f"}"#
    #expect(
      forms == [
        #"{"upload":{"source":"/d/f"}}"#,
        #"{"upload":{"form":[\#(parts)],"method":"POST","source":"/f"}}"#,
        #"{"upload":{"source":"","stream":0}}"#, #"{"upload":{"source":"","stream":7}}"#,
        #"{"upload":{"download":{"destination":"stream"},"source":""}}"#,
      ])
  }

  @Test func `Every state is read back`() async throws {
    var ids = Ids()
    var all: [TransferRecord] = []
    let origins: [TransferEvent.Initiator?] = [nil, .user, .signal, .disk, .network]
    for status in StoredStatus.allCases {
      for desired in DesiredState.allCases {
        for origin in origins {
          var record = try record(ids.id(), rank: Int64(all.count), status: status)
          (record.storedState.desired, record.storedState.pausedBy) = (desired, origin)
          all.append(record)
        }
      }
    }
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(all))
    #expect(try await store.records(all.map(\.id)) == all)
    #expect(try await store.open().members == all.map(QueuedMember.init))
    await store.close()
  }

  @Test
  func `A wait reason is read back; those that follow from other transfers are not stored`()
    async throws
  {
    var ids = Ids()
    let stored: [WaitReason] = [
      .retry(at: 0.25), .offline, .credentialsRefused, .startTime(until: 0.25),
      .hostBackOff(until: 0.25),
      .directoryMissing("/a \u{0} b", foundDevice: nil),
      .directoryMissing("", foundDevice: .max),
      .diskFull(.init(device: .max, directory: "/\u{FC}", needed: .max, free: nil)),
      .diskFull(.init(device: 0, directory: "/", needed: 0, free: 7)),
    ]
    let derived: [WaitReason] = [
      .slot, .hostLimit, .hostRefusal(until: 1), .hostOutage(until: nil), .suspended,
      .schedule("s", until: 1), .dependency(ids.id(), isBlocked: true),
    ]
    var all: [TransferRecord] = []
    for reason in stored + derived {
      var record = try record(ids.id(), rank: Int64(all.count))
      record.storedState.waitReason = reason
      all.append(record)
    }
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(all))
    let expected = stored + derived.map { _ in nil }
    #expect(try await store.records(all.map(\.id)).map(\.storedState.waitReason) == expected)
    #expect(try await store.open().members.map(\.storedState.waitReason) == expected)
    // Updates of adjacent rows keep their own values.
    var change = StoreChange()
    change.updated = zip(all, expected.reversed()).map { record, reason in
      var storedState = record.storedState
      storedState.waitReason = reason
      return StoreChange.Update(id: record.id, storedState: storedState, keepsRankAndPriority: true)
    }
    try await store.commit(change)
    #expect(try await store.open().members.map(\.storedState.waitReason) == expected.reversed())
    await store.close()
  }

  @Test func `A result is read back with every field, an error with every code`() async throws {
    // Where the bytes came from, and what the server said, matter only to who runs it.
    #expect(
      same(TransferResult(state: .completed), try fullResult()) == ["cacheUse", "reply", "sender"])
    // The cause, and whose error it is, matter only during the run; a refusal and a remedy matter
    // only to the caller. None is stored.
    #expect(
      same(TransferError(.io, ""), fullError())
        == ["cause", "isOfRedirect", "isOfSource", "refusal", "remedy"])
    #expect(same(ConnectionChoice(1, .limit), ConnectionChoice(2, .slower, rate: 1)) == [])
    var ids = Ids()
    var results = [try fullResult()]
    for state in [TransferResult.State.completed, .failed, .cancelled] {
      results.append(TransferResult(state: state))
    }
    for way in [TransferResult.Verification.checksum, .length, .framing, .unverified] {
      results.append(TransferResult(state: .completed, path: "", bytes: .max, verified: way))
    }
    for code in TransferError.Code.allCases {
      results.append(TransferResult(state: .failed, error: TransferError(code, "m")))
    }
    let all = results.map { result in
      var record = TransferRecord(id: ids.id(), request: .step("s"))
      record.result = result
      return record
    }
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(adding(all))
    #expect(try await store.records(all.map(\.id)) == all)
    await store.close()
  }

  @Test func `Every state change is read back; other events are refused`() async throws {
    let kinds = try allKinds()
    #expect(Set(kinds.map(name)).count == 6)
    #expect(Set((kinds + unstoredKinds()).map(name)).count == 13)
    var ids = Ids()
    let id = ids.id()
    var change = StoreChange()
    change.events = kinds.enumerated().map { index, kind in
      StoredEvent(number: index + 1, id: id, kind: kind)
    }
    let groupEnd = GroupEnd(name: "g", completed: 2, failed: 1, cancelled: 3)
    change.events.append(
      StoredEvent(
        number: kinds.count + 1, id: id, kind: .finished(TransferResult(state: .failed)),
        groupEnd: groupEnd))
    let scratch = Scratch()
    let store = try await scratch.open()
    try await store.commit(change)
    #expect(try await store.events(from: 1, atMost: 1000) == change.events)
    for kind in unstoredKinds() {
      change.events = [StoredEvent(number: kinds.count + 2, id: id, kind: kind)]
      let error = try await failure { try await store.commit(change) }
      #expect(error.code == .internal, "\(name(kind))")
    }
    #expect(try await store.open().lastEvent == kinds.count + 1)
    await store.close()
  }

  @Test func `Unknown keys are ignored, missing ones take their default`() async throws {
    var ids = Ids()
    let scratch = Scratch()
    let first = try await scratch.open()
    let plain = TransferRecord(
      id: ids.id(),
      request: .download(try ResourceURL("https://example.com/"), to: .file("f")))
    try await first.commit(adding([plain]))
    await first.close()
    try scratch.sql { db in
      try db.execute(
        sql:
          #"UPDATE requests SET form = '{"download":{"destination":"file","later":[1]},"new":{}}'"#)
    }
    let second = try await scratch.open()
    #expect(try await second.records([plain.id]) == [plain])
    await second.close()
    try scratch.sql { try $0.execute(sql: #"UPDATE requests SET form = '{"upload":{}}'"#) }
    let third = try await scratch.open()
    let error = try await failure { _ = try await third.records([plain.id]) }
    #expect(error.code == .io)
    #expect(error.message.contains("open it with the version that wrote it"))
    await third.close()
  }
}
