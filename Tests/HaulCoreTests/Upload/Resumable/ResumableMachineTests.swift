import HaulCore
import Testing

/// What the machine of IETF resumable uploads does, event by event.
@Suite struct ResumableMachineTests {
  private static let address = "http://h.example/files/name.bin"
  private static let length: Int64 = 20 << 20
  private let lost = TransferError(.connectionLost, "lost", isRetryable: true)

  private static func source(_ length: Int64 = length, modified: Double = 3) -> SourceIdentity {
    SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: length, owner: 0, mode: 0o644, links: 1,
        modified: modified))
  }

  private func machine(
    length: Int64 = length, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> ResumableMachine {
    var request = UploadRequest("/d/name.bin", to: try ResourceURL(Self.address))
    request.method = .resumable
    change(&request)
    return ResumableMachine(
      UploadStart(request, Self.source(length), hasRun: false, isAttended: false, now: Instant()))
  }

  private func stored(_ version: Int = 8, modified: Double = 3) -> UploadRecord {
    UploadRecord(
      address: "http://h.example/up/1", source: Self.source(modified: modified), version: version)
  }

  /// A machine whose upload is created, and whose bytes are being sent.
  private func appending(limit: String = "min-size=0") throws -> ResumableMachine {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(204, [("Upload-Limit", limit)]))
    _ = machine.handle(try answer(201, [("Location", "/up/1")]))
    #expect(try message(machine.handle(.stored(nil))).method == "PATCH")
    return machine
  }

  private func isRetry(_ commands: [UploadCommand]) -> Bool {
    if case .retry? = commands.last { true } else { false }
  }

  @Test func `An upload is created empty, stored, sent whole, and checked`() throws {
    var machine = try machine { $0.headers = [("Content-Type", "video/mp4")] }
    let options = try message(machine.handle(.start(nil)))
    #expect((options.method, options.url) == ("OPTIONS", try ResourceURL(Self.address)))
    #expect(options.fields["Upload-Draft-Interop-Version"] == "8")
    let create = try message(machine.handle(try answer(200, [("Upload-Limit", "max-age=60")])))
    #expect((create.method, create.range) == ("PUT", 0..<0))
    #expect(create.fields["Upload-Complete"] == "?0")
    #expect(create.fields["Upload-Length"] == "\(Self.length)")
    #expect(create.fields["Content-Type"] == "video/mp4")
    #expect(
      machine.handle(try answer(201, [("Location", "/up/1")])) == [.storeRecord(stored())])
    let append = try message(machine.handle(.stored(nil)))
    #expect((append.method, append.range) == ("PATCH", 0..<Self.length))
    #expect(append.url == (try ResourceURL("http://h.example/up/1")))
    #expect(append.fields["Upload-Offset"] == "0")
    #expect(append.fields["Upload-Complete"] == "?1")
    #expect(append.fields["Content-Type"] == "application/partial-upload")
    #expect(
      machine.handle(try answer(201, [("Upload-Complete", "?1")], sent: Self.length)) == [
        .reportAcknowledged(Self.length), .checkSource,
      ])
    #expect(machine.handle(.sourceChecked(nil)) == [.deleteRecord, .finish(.completed)])
  }

  @Test(arguments: [200, 204, 301, 400, 401, 403, 404, 405, 500, 501, 502, 504])
  func `A server that offers nothing is asked for the older version, and gets a plain PUT`(
    status: Int
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let older = try message(machine.handle(try answer(status)))
    #expect(older.fields["Upload-Draft-Interop-Version"] == "6")
    let put = try message(machine.handle(try answer(status)))
    #expect((put.method, put.range) == ("PUT", 0..<Self.length))
    #expect(put.fields["Upload-Complete"] == nil)
    #expect(machine.handle(try answer(201, sent: Self.length)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    #expect(machine.handle(try answer(404)) == [.finish(.completed)])
  }

  @Test func `A question that is dropped twice, or not answered, is followed by a plain PUT`()
    throws
  {
    var dropped = try machine { $0.retry.retries = 1 }
    #expect(try message(dropped.handle(.start(nil))).isOptional)
    #expect(isRetry(dropped.handle(.failed(lost, sent: 0))))
    #expect(try message(dropped.handle(.start(nil))).method == "OPTIONS")
    #expect(try message(dropped.handle(.failed(lost, sent: 0))).method == "PUT")
    _ = dropped.handle(try answer(201, sent: Self.length))
    // It drops what is no PUT.
    #expect(dropped.handle(.sourceChecked(nil)) == [.finish(.completed)])
    var silent = try machine()
    _ = silent.handle(.start(nil))
    let stalled = TransferError(.stalled, "silent", isRetryable: true)
    #expect(try message(silent.handle(.failed(stalled, sent: 0))).method == "PUT")
    var busy = try machine { $0.retry.retries = 1 }
    _ = busy.handle(.start(nil))
    #expect(isRetry(busy.handle(try answer(503))))
    _ = busy.handle(.start(nil))
    #expect(try message(busy.handle(try answer(503))).method == "PUT")
  }

  @Test func `A question that gets no HTTP is followed by a plain PUT, whose length is asked for`()
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let garbled = TransferError(.protocolViolation, "the answer is not HTTP")
    let put = try message(machine.handle(.failed(garbled, sent: 0)))
    #expect((put.method, put.range) == ("PUT", 0..<Self.length))
    _ = machine.handle(try answer(201, sent: Self.length))
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    // What is no HTTP in answer to the file itself is an error.
    var other = try appending()
    #expect(failure(of: other.handle(.failed(garbled, sent: 0)))?.code == .protocolViolation)
  }

  @Test func `A body that is refused for its length goes in smaller ones`() throws {
    var machine = try appending()
    let first = try message(machine.handle(try answer(413)))
    #expect(first.range == 0..<(8 << 20))
    #expect(first.fields["Upload-Complete"] == "?0")
    let second = try message(machine.handle(try answer(413)))
    #expect(second.range == 0..<(1 << 20))
    let next = try message(
      machine.handle(
        try answer(204, [("Upload-Offset", "1048576"), ("Upload-Complete", "?0")], sent: 1 << 20)))
    #expect(next.range == (1 << 20)..<(2 << 20))
    for _ in 0..<2 { _ = machine.handle(try answer(413)) }
    #expect(failure(of: machine.handle(try answer(413)))?.code == .tooLarge)
  }

  @Test func `A body that gets 404 goes in smaller ones if HEAD finds the upload`() throws {
    var machine = try appending()
    #expect(try message(machine.handle(try answer(404, sent: 9))).method == "HEAD")
    var gone = machine
    #expect(gone.handle(try answer(404)).first == .deleteRecord)
    let incomplete = [("Upload-Offset", "5"), ("Upload-Complete", "?0")]
    #expect(
      try message(machine.handle(try answer(204, incomplete))).range == 5..<(8 << 20 + 5))
    // The limit stays, and the smallest body shows that the upload is gone.
    for _ in 0..<3 {
      _ = machine.handle(try answer(404))
      _ = machine.handle(try answer(204, incomplete))
    }
    #expect(machine.handle(try answer(404)).first == .deleteRecord)
  }

  @Test func `A small file, and one with a precondition, are sent without asking`() throws {
    var small = try machine(length: ResumableMachine.smallest - 1)
    #expect(try message(small.handle(.start(nil))).method == "PUT")
    var conditional = try machine { $0.precondition = .entityTag("\"a\"") }
    #expect(try message(conditional.handle(.start(nil))).fields["If-Match"] == "\"a\"")
  }

  @Test func `Nothing is created before the server has offered it, nor sent before it is stored`()
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    #expect(isRetry(machine.handle(.failed(lost, sent: 0))))
    #expect(try message(machine.handle(.start(nil))).method == "OPTIONS")
    _ = machine.handle(try answer(200, [("Upload-Limit", "min-size=0")]))
    _ = machine.handle(try answer(201, [("Location", "/up/1")]))
    let full = TransferError(.diskFull, "full")
    #expect(machine.handle(.stored(full)) == [.finish(.failed(full))])
  }

  @Test(arguments: ["max-size=1000, max-age=60", "max-size=20971519"])
  func `A file that is too large is not sent`(limit: String) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let commands = machine.handle(try answer(200, [("Upload-Limit", limit)]))
    #expect(failure(of: commands)?.code == .tooLarge)
  }

  @Test(arguments: [(length, true), (length + 1, false)])
  func `A file below the length from which uploads resume is sent with plain PUT`(
    least: Int64, resumes: Bool
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let limit = [("Upload-Limit", "min-size=\(least), max-size=1000000000")]
    let put = try message(machine.handle(try answer(204, limit)))
    #expect(put.method == "PUT")
    #expect(put.fields["Upload-Complete"] == (resumes ? "?0" : nil))
    #expect(put.range?.upperBound == (resumes ? 0 : Self.length))
  }

  @Test func `A server that limits one request gets several`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, [("Upload-Limit", "max-append-size=15000000")]))
    _ = machine.handle(try answer(201, [("Location", "/up/1")]))
    let first = try message(machine.handle(.stored(nil)))
    #expect(first.range == 0..<15_000_000)
    #expect(first.fields["Upload-Complete"] == "?0")
    let rest = try message(
      machine.handle(
        try answer(
          204, [("Upload-Offset", "15000000"), ("Upload-Complete", "?0")], sent: 15_000_000)
      ))
    #expect(rest.range == 15_000_000..<Self.length)
    #expect(rest.fields["Upload-Complete"] == "?1")
  }

  @Test func `A lost connection continues where the server says`() throws {
    var machine = try appending()
    #expect(isRetry(machine.handle(.failed(lost, sent: 700))))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    let commands = machine.handle(
      try answer(204, [("Upload-Offset", "600"), ("Upload-Complete", "?0")]))
    #expect(commands.first == .reportAcknowledged(600))
    #expect(try message(commands).range == 600..<Self.length)
  }

  @Test func `A stored upload continues in its version; another version of the file does not`()
    throws
  {
    var machine = try machine()
    let head = try message(machine.handle(.start(stored(6))))
    #expect(head.method == "HEAD")
    #expect(head.fields["Upload-Draft-Interop-Version"] == "6")
    #expect(
      try message(machine.handle(try answer(204, [("Upload-Offset", "5")]))).range
        == 5..<Self.length)
    var changed = try self.machine()
    #expect(try message(changed.handle(.start(stored(modified: 4)))).method == "OPTIONS")
  }

  @Test func `A stored upload continues within the limit that the server reports`() throws {
    var machine = try machine()
    _ = machine.handle(.start(stored()))
    let rest = try message(
      machine.handle(
        try answer(
          204, [("Upload-Offset", "5"), ("Upload-Limit", "max-append-size=15000000")])))
    #expect(rest.range == 5..<15_000_005)
    #expect(rest.fields["Upload-Complete"] == "?0")
  }

  @Test(arguments: ["701", "-1", "x", ""])
  func `An offset that cannot be is an error`(offset: String) throws {
    var machine = try appending()
    _ = machine.handle(.failed(lost, sent: 700))
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(204, [("Upload-Offset", offset)])))
    #expect(error?.code == .protocolViolation)
    #expect(error?.message.contains("does not say") == (offset != "701"))
  }

  @Test func `A server that has lost bytes gets a new upload, once`() throws {
    var machine = try appending()
    _ = machine.handle(.failed(lost, sent: 700))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(204, [("Upload-Offset", "600")]))
    _ = machine.handle(.failed(lost, sent: 0))
    _ = machine.handle(.start(nil))
    let commands = machine.handle(try answer(204, [("Upload-Offset", "500")]))
    #expect(commands.prefix(2) == [.deleteRecord, .reportAcknowledged(0)])
    #expect(try message(commands).method == "OPTIONS")
  }

  @Test(arguments: [409, 423, 500, 503])
  func `A conflict and a busy server are tried again, after HEAD`(status: Int) throws {
    var machine = try appending()
    #expect(isRetry(machine.handle(try answer(status, [("Upload-Offset", "5")], sent: 10))))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
  }

  @Test(arguments: [400, 413, 503])
  func `A refusal of the whole file is final`(status: Int) throws {
    var machine = try appending()
    let commands = machine.handle(
      try answer(status, [("Upload-Complete", "?1")], sent: Self.length))
    let error = failure(of: commands)
    #expect((error?.status, error?.isRetryable) == (status, false))
  }

  @Test func `A lost answer to the last byte is no success: the file is sent again`() throws {
    var machine = try appending()
    _ = machine.handle(.failed(lost, sent: Self.length))
    _ = machine.handle(.start(nil))
    let complete = [("Upload-Offset", "\(Self.length)"), ("Upload-Complete", "?1")]
    let commands = machine.handle(try answer(204, complete))
    #expect(commands.first == .deleteRecord)
    #expect(try message(commands).method == "OPTIONS")
  }

  @Test func `A success that does not say that it is complete is proved by HEAD`() throws {
    var machine = try appending()
    let commands = machine.handle(try answer(200, sent: Self.length))
    #expect(try message(commands).method == "HEAD")
    var incomplete = machine
    let complete = [("Upload-Offset", "\(Self.length)"), ("Upload-Complete", "?1")]
    #expect(machine.handle(try answer(204, complete)).last == .checkSource)
    let part = [("Upload-Offset", "7"), ("Upload-Complete", "?0")]
    #expect(try message(incomplete.handle(try answer(204, part))).range == 7..<Self.length)
  }

  @Test func `A server that takes no byte is given up`() throws {
    var machine = try appending()
    for _ in 0..<2 {
      #expect(try message(machine.handle(try answer(200, sent: 0))).method == "HEAD")
      #expect(isRetry(machine.handle(try answer(204, [("Upload-Offset", "0")]))))
      #expect(try message(machine.handle(.start(nil))).method == "HEAD")
      #expect(try message(machine.handle(try answer(204, [("Upload-Offset", "0")]))).range != nil)
    }
  }

  @Test func `A success before the whole file was sent is an error`() throws {
    var machine = try appending()
    let commands = machine.handle(try answer(201, [("Upload-Complete", "?1")], sent: 99))
    #expect(failure(of: commands)?.code == .protocolViolation)
  }

  @Test func `A creation without an address is an error`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, [("Upload-Limit", "min-size=0")]))
    #expect(failure(of: machine.handle(try answer(201)))?.code == .protocolViolation)
  }

  @Test func `Another server gets neither password nor header fields`() throws {
    var machine = try machine {
      $0.url = (try? ResourceURL("http://u:p@h.example/f")) ?? $0.url
      $0.headers = [("X-Key", "secret")]
    }
    _ = machine.handle(.start(nil))
    let create = try message(machine.handle(try answer(200, [("Upload-Limit", "min-size=0")])))
    #expect(create.fields["X-Key"] == "secret")
    _ = machine.handle(try answer(201, [("Location", "http://other.example/u1")]))
    let append = try message(machine.handle(.stored(nil)))
    #expect((append.url.credentials == nil, append.fields["X-Key"]) == (true, nil))
  }
}
