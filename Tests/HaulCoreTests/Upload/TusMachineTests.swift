import HaulCore
import Testing

/// What the machine of tus does, event by event.
@Suite struct TusMachineTests {
  private static let address = "http://h.example/files/"
  private static let length: Int64 = 1000
  private var random = SplitMix64(seed: 1)
  private let source = SourceIdentity(
    FileStatus(
      kind: .regular, device: 1, inode: 2, size: length, owner: 0, mode: 0o644, links: 1,
      modified: 3))

  private func machine(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> TusMachine {
    var request = UploadRequest("/d/name.bin", to: try ResourceURL(Self.address))
    request.method = .tus
    change(&request)
    return TusMachine(request, source: source, isAttended: false, now: Instant())
  }

  private mutating func handle(
    _ machine: inout TusMachine, _ event: UploadEvent
  ) -> [UploadCommand] {
    machine.handle(event, at: Instant(.seconds(1)), using: &random)
  }

  private func answer(
    _ status: Int, _ fields: [(String, String)] = [], sent: Int64 = 0
  ) throws -> UploadEvent {
    .answered(
      ResponseHead(
        status: status, headers: HeaderFields(fields), url: try ResourceURL(Self.address)),
      sent: sent, wallSeconds: 1_700_000_000)
  }

  private func failure(of commands: [UploadCommand]) -> TransferError? {
    if case .finish(.failed(let error))? = commands.last { error } else { nil }
  }

  private func message(_ commands: [UploadCommand]) throws -> UploadMessage {
    guard case .send(let message)? = commands.last else {
      throw TransferError(.internal, "\(commands)")
    }
    return message
  }

  private static let offered = [
    ("Tus-Version", "1.0.0,0.2.2"), ("Tus-Extension", "creation,expiration"),
  ]

  /// A machine whose upload is created, and whose bytes are being sent.
  private mutating func appending() throws -> TusMachine {
    var machine = try machine()
    _ = handle(&machine, .start(nil))
    _ = handle(&machine, try answer(200, Self.offered))
    _ = handle(&machine, try answer(201, [("Location", "u1")]))
    _ = handle(&machine, .stored(nil))
    return machine
  }

  private func stored(_ source: SourceIdentity) -> UploadRecord {
    UploadRecord(address: "http://h.example/files/u1", source: source)
  }

  @Test mutating func `An upload is created, stored, sent whole, and checked`() throws {
    var machine = try machine()
    let options = try message(handle(&machine, .start(nil)))
    #expect((options.method, options.url) == ("OPTIONS", try ResourceURL(Self.address)))
    let create = try message(handle(&machine, try answer(204, Self.offered)))
    #expect(create.method == "POST")
    #expect(create.fields["Upload-Length"] == "1000")
    #expect(
      create.fields["Upload-Metadata"]
        == "filename bmFtZS5iaW4=,filetype YXBwbGljYXRpb24vb2N0ZXQtc3RyZWFt")
    #expect(create.fields["Tus-Resumable"] == "1.0.0")
    #expect(
      handle(&machine, try answer(201, [("Location", "/files/u1")])) == [.store(stored(source))])
    let append = try message(handle(&machine, .stored(nil)))
    #expect((append.method, append.range) == ("PATCH", 0..<1000))
    #expect(append.url == (try ResourceURL("http://h.example/files/u1")))
    #expect(append.fields["Upload-Offset"] == "0")
    #expect(append.fields["Content-Type"] == "application/offset+octet-stream")
    #expect(
      handle(&machine, try answer(204, [("Upload-Offset", "1000")], sent: 1000)) == [
        .acknowledged(1000), .checkSource,
      ])
    #expect(handle(&machine, .sourceChecked(nil)) == [.forget, .finish(.completed)])
  }

  @Test mutating func `Nothing is sent before the address is stored`() throws {
    var machine = try machine()
    _ = handle(&machine, .start(nil))
    _ = handle(&machine, try answer(200, Self.offered))
    _ = handle(&machine, try answer(201, [("Location", "u1")]))
    let full = TransferError(.diskFull, "full")
    #expect(handle(&machine, .stored(full)) == [.finish(.failed(full))])
  }

  @Test mutating func `A lost connection continues where the server says`() throws {
    var machine = try appending()
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    guard case .retry? = handle(&machine, .failed(lost, sent: 700)).first else {
      Issue.record("no retry")
      return
    }
    #expect(try message(handle(&machine, .start(nil))).method == "HEAD")
    let commands = handle(
      &machine, try answer(200, [("Upload-Offset", "600"), ("Upload-Length", "1000")]))
    #expect(commands.first == .acknowledged(600))
    #expect(try message(commands).range == 600..<1000)
  }

  @Test mutating func `A stored upload continues; one of another version of the file does not`()
    throws
  {
    var machine = try machine()
    #expect(try message(handle(&machine, .start(stored(source)))).method == "HEAD")
    #expect(
      try message(handle(&machine, try answer(204, [("Upload-Offset", "5")]))).range == 5..<1000)
    let other = SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: Self.length, owner: 0, mode: 0o644, links: 1,
        modified: 4))
    var changed = try self.machine()
    #expect(try message(handle(&changed, .start(stored(other)))).method == "OPTIONS")
  }

  @Test(arguments: ["701", "-1", "x", "1001", ""])
  mutating func `An offset that cannot be is an error`(offset: String) throws {
    var machine = try appending()
    _ = handle(
      &machine, .failed(TransferError(.connectionLost, "lost", isRetryable: true), sent: 700))
    _ = handle(&machine, .start(nil))
    let error = failure(of: handle(&machine, try answer(200, [("Upload-Offset", offset)])))
    #expect(error?.code == .protocolViolation)
  }

  @Test mutating func `An upload of another length is an error`() throws {
    var machine = try machine()
    _ = handle(&machine, .start(stored(source)))
    let fields = [("Upload-Offset", "5"), ("Upload-Length", "999")]
    #expect(failure(of: handle(&machine, try answer(200, fields)))?.code == .protocolViolation)
  }

  @Test mutating func `A server that takes a part gets the rest`() throws {
    var machine = try appending()
    let commands = handle(&machine, try answer(204, [("Upload-Offset", "400")], sent: 1000))
    #expect(commands.first == .acknowledged(400))
    #expect(try message(commands).range == 400..<1000)
  }

  @Test(arguments: [409, 423, 460, 503])
  mutating func `A conflict, a lock and a wrong checksum are tried again, after HEAD`(status: Int)
    throws
  {
    var machine = try appending()
    guard case .retry? = handle(&machine, try answer(status, sent: 10)).first else {
      Issue.record("no retry")
      return
    }
    #expect(try message(handle(&machine, .start(nil))).method == "HEAD")
  }

  @Test mutating func `A server that always has another offset is given up`() throws {
    var machine = try machine { $0.retry.retries = 3 }
    _ = handle(&machine, .start(stored(source)))
    var commands: [UploadCommand] = []
    for _ in 0..<4 {
      _ = handle(&machine, try answer(200, [("Upload-Offset", "5")]))
      commands = handle(&machine, try answer(409))
      if failure(of: commands) != nil { break }
      _ = handle(&machine, .start(nil))
    }
    #expect(failure(of: commands)?.status == 409)
  }

  @Test(arguments: [403, 404, 410])
  mutating func `An upload that is gone begins anew, once`(status: Int) throws {
    var machine = try machine()
    _ = handle(&machine, .start(stored(source)))
    let commands = handle(&machine, try answer(status))
    #expect(commands.prefix(2) == [.forget, .acknowledged(0)])
    #expect(try message(commands).method == "OPTIONS")
    _ = handle(&machine, try answer(200, Self.offered))
    _ = handle(&machine, try answer(201, [("Location", "u2")]))
    _ = handle(&machine, .stored(nil))
    #expect(failure(of: handle(&machine, try answer(404)))?.code == .notFound)
  }

  @Test mutating func `A file that is too large is not sent`() throws {
    var machine = try machine()
    _ = handle(&machine, .start(nil))
    let error = failure(
      of: handle(&machine, try answer(200, Self.offered + [("Tus-Max-Size", "999")])))
    #expect(error?.code == .tooLarge)
  }

  @Test(arguments: [[("Tus-Version", "2.0.0")], [], [("Tus-Version", "1.0.0")]])
  mutating func `A server without tus, or without creation, is an error`(
    fields: [(String, String)]
  ) throws {
    var machine = try machine()
    _ = handle(&machine, .start(nil))
    #expect(failure(of: handle(&machine, try answer(200, fields))) != nil)
  }

  @Test mutating func `Another server gets neither password nor header fields`() throws {
    var machine = try machine {
      $0.url = (try? ResourceURL("http://u:p@h.example/files/")) ?? $0.url
      $0.headers = [("X-Key", "secret")]
    }
    _ = handle(&machine, .start(nil))
    let create = try message(handle(&machine, try answer(200, Self.offered)))
    #expect(create.fields["X-Key"] == "secret")
    _ = handle(&machine, try answer(201, [("Location", "http://other.example/u1")]))
    let append = try message(handle(&machine, .stored(nil)))
    #expect(append.url.credentials == nil)
    #expect(append.fields["X-Key"] == nil)
    #expect(append.fields["Tus-Resumable"] == "1.0.0")
  }

  @Test mutating func `An empty file is complete once it is created`() throws {
    let empty = SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: 0, owner: 0, mode: 0o644, links: 1, modified: 3))
    var request = UploadRequest("/f", to: try ResourceURL(Self.address))
    request.method = .tus
    var machine = TusMachine(request, source: empty, isAttended: false, now: Instant())
    _ = handle(&machine, .start(nil))
    _ = handle(&machine, try answer(200, Self.offered))
    _ = handle(&machine, try answer(201, [("Location", "u1")]))
    #expect(handle(&machine, .stored(nil)) == [.checkSource])
  }
}
