import HaulCore
import Testing

/// What the machine of tus does, event by event.
@Suite struct TusMachineTests {
  private static let address = "http://h.example/files/"
  private static let length: Int64 = 1000
  private let source = SourceIdentity(
    FileStatus(
      kind: .regular, device: 1, inode: 2, size: length, owner: 0, mode: 0o644, links: 1,
      modified: 3))

  private func machine(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> TusMachine {
    var request = UploadRequest("/d/name.bin", to: try ResourceURL(Self.address))
    request.method = .tus
    change(&request)
    return TusMachine(UploadStart(request, source, isAttended: false, now: Instant()))
  }

  private static let offered = [
    ("Tus-Version", "1.0.0,0.2.2"), ("Tus-Extension", "creation,expiration"),
  ]

  /// A machine whose upload is created, and whose bytes are being sent.
  private func appending() throws -> TusMachine {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    _ = machine.handle(.stored(nil))
    return machine
  }

  private func stored(_ source: SourceIdentity) -> UploadRecord {
    UploadRecord(address: "http://h.example/files/u1", source: source)
  }

  /// A machine with a stored upload, and the question what the server has of it.
  private func resuming(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> (TusMachine, UploadMessage) {
    var machine = try machine(change)
    #expect(try message(machine.handle(.start(stored(source)))).method == "OPTIONS")
    let ask = try message(machine.handle(try answer(204, Self.offered)))
    #expect(ask.method == "HEAD")
    return (machine, ask)
  }

  @Test func `An upload is created, stored, sent whole, and checked`() throws {
    var machine = try machine()
    let options = try message(machine.handle(.start(nil)))
    #expect((options.method, options.url) == ("OPTIONS", try ResourceURL(Self.address)))
    let create = try message(machine.handle(try answer(204, Self.offered)))
    #expect(create.method == "POST")
    #expect(create.fields["Upload-Length"] == "1000")
    #expect(
      create.fields["Upload-Metadata"]
        == "filename bmFtZS5iaW4=,filetype YXBwbGljYXRpb24vb2N0ZXQtc3RyZWFt")
    #expect(create.fields["Tus-Resumable"] == "1.0.0")
    #expect(
      machine.handle(try answer(201, [("Location", "/files/u1")])) == [.storeRecord(stored(source))]
    )
    let append = try message(machine.handle(.stored(nil)))
    #expect((append.method, append.range) == ("PATCH", 0..<1000))
    #expect(append.url == (try ResourceURL("http://h.example/files/u1")))
    #expect(append.fields["Upload-Offset"] == "0")
    #expect(append.fields["Content-Type"] == "application/offset+octet-stream")
    #expect(
      machine.handle(try answer(204, [("Upload-Offset", "1000")], sent: 1000)) == [
        .reportAcknowledged(1000), .checkSource,
      ])
    #expect(machine.handle(.sourceChecked(nil)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `Nothing is sent before the address is stored`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    let full = TransferError(.diskFull, "full")
    #expect(machine.handle(.stored(full)) == [.finish(.failed(full))])
  }

  @Test func `A lost connection continues where the server says`() throws {
    var machine = try appending()
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    guard case .retry? = machine.handle(.failed(lost, sent: 700)).first else {
      Issue.record("no retry")
      return
    }
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    let commands = machine.handle(
      try answer(200, [("Upload-Offset", "600"), ("Upload-Length", "1000")]))
    #expect(commands.first == .reportAcknowledged(600))
    #expect(try message(commands).range == 600..<1000)
  }

  @Test func `A stored upload continues; one of another version of the file does not`()
    throws
  {
    var (machine, _) = try resuming()
    #expect(
      try message(machine.handle(try answer(204, [("Upload-Offset", "5")]))).range == 5..<1000)
    let other = SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: Self.length, owner: 0, mode: 0o644, links: 1,
        modified: 4))
    var changed = try self.machine()
    #expect(try message(changed.handle(.start(stored(other)))).method == "OPTIONS")
  }

  @Test func `After a crash a file that the server has whole is complete without another byte`()
    throws
  {
    var (machine, _) = try resuming()
    #expect(
      machine.handle(try answer(200, [("Upload-Offset", "1000"), ("Upload-Length", "1000")])) == [
        .reportAcknowledged(1000), .checkSource,
      ])
    #expect(machine.handle(.sourceChecked(nil)) == [.deleteRecord, .finish(.completed)])
  }

  @Test(arguments: ["701", "-1", "x", "1001", ""])
  func `An offset that cannot be is an error`(offset: String) throws {
    var machine = try appending()
    _ = machine.handle(
      .failed(TransferError(.connectionLost, "lost", isRetryable: true), sent: 700))
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(200, [("Upload-Offset", offset)])))
    #expect(error?.code == .protocolViolation)
    #expect(error?.message.contains("does not say") == ["-1", "x", ""].contains(offset))
  }

  @Test func `An upload of another length is an error`() throws {
    var (machine, _) = try resuming()
    let fields = [("Upload-Offset", "5"), ("Upload-Length", "999")]
    #expect(failure(of: machine.handle(try answer(200, fields)))?.code == .protocolViolation)
  }

  @Test func `A server that takes a part gets the rest`() throws {
    var machine = try appending()
    let commands = machine.handle(try answer(204, [("Upload-Offset", "400")], sent: 1000))
    #expect(commands.first == .reportAcknowledged(400))
    #expect(try message(commands).range == 400..<1000)
  }

  @Test(arguments: [409, 423, 460, 503])
  func `A conflict, a lock and a wrong checksum are tried again, after HEAD`(status: Int)
    throws
  {
    var machine = try appending()
    guard case .retry? = machine.handle(try answer(status, sent: 10)).first else {
      Issue.record("no retry")
      return
    }
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
  }

  @Test func `A server that always has another offset is given up`() throws {
    var (machine, _) = try resuming { $0.retry.retries = 3 }
    var commands: [UploadCommand] = []
    for _ in 0..<4 {
      _ = machine.handle(try answer(200, [("Upload-Offset", "5")]))
      commands = machine.handle(try answer(409))
      if failure(of: commands) != nil { break }
      _ = machine.handle(.start(nil))
    }
    #expect(failure(of: commands)?.status == 409)
  }

  @Test(arguments: [403, 404, 410])
  func `An upload that is gone begins anew, once`(status: Int) throws {
    var (machine, _) = try resuming()
    let commands = machine.handle(try answer(status))
    #expect(commands.prefix(2) == [.deleteRecord, .reportAcknowledged(0)])
    #expect(try message(commands).method == "OPTIONS")
    _ = machine.handle(try answer(200, Self.offered))
    _ = machine.handle(try answer(201, [("Location", "u2")]))
    _ = machine.handle(.stored(nil))
    #expect(failure(of: machine.handle(try answer(404)))?.code == .notFound)
  }

  @Test func `An upload that has expired by our clock continues if the server has it`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    let past = ("Upload-Expires", "Sat, 01 Jan 2000 00:00:00 GMT")
    _ = machine.handle(try answer(201, [("Location", "u1"), past]))
    #expect(try message(machine.handle(.stored(nil))).range == 0..<1000)
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    _ = machine.handle(.failed(lost, sent: 700))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    let known = machine.handle(try answer(200, [("Upload-Offset", "600"), past]))
    #expect(try message(known).range == 600..<1000)
  }

  @Test(arguments: [401, 404, 500])
  func `A stored upload continues although the server does not say what it offers`(status: Int)
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(stored(source)))
    #expect(try message(machine.handle(try answer(status))).method == "HEAD")
  }

  @Test(arguments: [200, 204, 301, 401, 403, 404, 405, 500, 502])
  func `OPTIONS that a proxy answers is no reason not to upload`(status: Int) throws {
    var machine = try machine()
    #expect(try message(machine.handle(.start(nil))).isOptional)
    let cors = [("Access-Control-Allow-Methods", "POST, PATCH, HEAD")]
    #expect(try message(machine.handle(try answer(status, cors))).method == "POST")
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    #expect(try message(machine.handle(.stored(nil))).method == "PATCH")
  }

  @Test(arguments: [TransferError.Code.connectionLost, .stalled, .protocolViolation])
  func `OPTIONS that gets no answer, or no HTTP, is no reason not to upload`(
    code: TransferError.Code
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let error = TransferError(code, "lost", isRetryable: code != .protocolViolation)
    #expect(try message(machine.handle(.failed(error, sent: 0))).method == "POST")
    var stored = try self.machine()
    _ = stored.handle(.start(self.stored(source)))
    #expect(try message(stored.handle(.failed(error, sent: 0))).method == "HEAD")
  }

  @Test(arguments: [200, 404, 405])
  func `A server that knows no tus is named as such once it refuses the creation`(status: Int)
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200))
    let error = failure(of: machine.handle(try answer(status)))
    #expect(error?.message.contains("does it speak tus 1.0.0 there?") == true)
  }

  @Test(arguments: [307, 308])
  func `A redirect at the creation is followed to the same origin, with POST`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    let again = try message(machine.handle(try answer(status, [("Location", "/up/")])))
    #expect((again.method, again.url.path) == ("POST", "/up/"))
    #expect(again.fields["Upload-Length"] == "1000")
    var other = machine
    let strange = [("Location", "http://other.example/up/")]
    #expect(failure(of: other.handle(try answer(status, strange)))?.code == .redirectRefused)
    for _ in 0..<4 { _ = machine.handle(try answer(status, [("Location", "/up/")])) }
    let error = failure(of: machine.handle(try answer(status, [("Location", "/up/")])))
    #expect(error?.code == .tooManyRedirects)
  }

  @Test(arguments: [301, 302, 303])
  func `A redirect that would change the method is refused with its address`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    let error = failure(of: machine.handle(try answer(status, [("Location", "/up/")])))
    #expect(error?.code == .redirectRefused)
    #expect(error?.message.contains("http://h.example/up/") == true)
  }

  /// A machine that sends a file of 3 MiB.
  private func appendingLong() throws -> TusMachine {
    let long = SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: 3 << 20, owner: 0, mode: 0o644, links: 1,
        modified: 3))
    var request = UploadRequest("/f", to: try ResourceURL(Self.address))
    request.method = .tus
    var machine = TusMachine(UploadStart(request, long, isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    #expect(try message(machine.handle(.stored(nil))).range == 0..<(3 << 20))
    return machine
  }

  @Test(arguments: [200, 202, 204])
  func `A creation with another success counts if it has an address`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    var nameless = machine
    #expect(failure(of: nameless.handle(try answer(status))) != nil)
    #expect(
      machine.handle(try answer(status, [("Location", "u1")])) == [.storeRecord(stored(source))])
    // Only a server that speaks tus says how much it has.
    _ = machine.handle(.stored(nil))
    let error = failure(of: machine.handle(try answer(200, sent: Self.length)))
    #expect(error?.code == .protocolViolation)
  }

  @Test func `A body that gets 404 goes in smaller ones if HEAD finds the upload`() throws {
    var machine = try appendingLong()
    #expect(try message(machine.handle(try answer(404, sent: 9))).method == "HEAD")
    var gone = machine
    #expect(gone.handle(try answer(404)).first == .deleteRecord)
    let known = machine.handle(try answer(200, [("Upload-Offset", "5")]))
    #expect(try message(known).range == 5..<(1 << 20 + 5))
    // The limit stays, and the smallest body shows that the upload is gone.
    for _ in 0..<2 {
      _ = machine.handle(try answer(404))
      _ = machine.handle(try answer(200, [("Upload-Offset", "5")]))
    }
    #expect(machine.handle(try answer(404)).first == .deleteRecord)
  }

  @Test func `A body that is refused for its length goes in smaller ones`() throws {
    var machine = try appendingLong()
    #expect(try message(machine.handle(try answer(413, sent: 9))).range == 0..<(1 << 20))
    let next = machine.handle(try answer(204, [("Upload-Offset", "1048576")], sent: 1 << 20))
    #expect(try message(next).range == (1 << 20)..<(2 << 20))
    for _ in 0..<2 { _ = machine.handle(try answer(413)) }
    #expect(failure(of: machine.handle(try answer(413)))?.code == .tooLarge)
  }

  @Test(arguments: [405, 501])
  func `A blocked PATCH is sent as POST, for the rest of the upload`(status: Int) throws {
    var machine = try appending()
    let post = try message(machine.handle(try answer(status, sent: 10)))
    #expect((post.method, post.range) == ("POST", 0..<1000))
    #expect(post.fields["X-HTTP-Method-Override"] == "PATCH")
    #expect(post.fields["Upload-Offset"] == "0")
    let rest = try message(machine.handle(try answer(204, [("Upload-Offset", "400")], sent: 1000)))
    #expect((rest.method, rest.range) == ("POST", 400..<1000))
    // Its server knows the field, so this says that the upload is gone.
    #expect(machine.handle(try answer(404)).first == .deleteRecord)
  }

  @Test(arguments: [404, 405, 501])
  func `A POST that is refused in place of PATCH is named as such`(status: Int) throws {
    var machine = try appending()
    _ = machine.handle(try answer(405))
    let error = failure(of: machine.handle(try answer(status)))
    #expect(error?.status == status)
    #expect(error?.message.contains("PATCH is blocked there, and POST in its place too") == true)
  }

  @Test func `A file that is too large is not sent`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let error = failure(
      of: machine.handle(try answer(200, Self.offered + [("Tus-Max-Size", "999")])))
    #expect(error?.code == .tooLarge)
  }

  @Test(arguments: [
    [("Tus-Version", "2.0.0")], [("Tus-Extension", "checksum")], [("Tus-Version", "1.0.0")],
  ])
  func `A server without tus, or without creation, is an error`(
    fields: [(String, String)]
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    #expect(failure(of: machine.handle(try answer(200, fields))) != nil)
  }

  @Test func `Another server gets neither password nor header fields`() throws {
    var machine = try machine {
      $0.url = (try? ResourceURL("http://u:p@h.example/files/")) ?? $0.url
      $0.headers = [("X-Key", "secret")]
    }
    _ = machine.handle(.start(nil))
    let create = try message(machine.handle(try answer(200, Self.offered)))
    #expect(create.fields["X-Key"] == "secret")
    _ = machine.handle(try answer(201, [("Location", "http://other.example/u1")]))
    let append = try message(machine.handle(.stored(nil)))
    #expect(append.url.credentials == nil)
    #expect(append.fields["X-Key"] == nil)
    #expect(append.fields["Tus-Resumable"] == "1.0.0")
  }

  @Test func `An empty file is complete once it is created`() throws {
    let empty = SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: 0, owner: 0, mode: 0o644, links: 1, modified: 3))
    var request = UploadRequest("/f", to: try ResourceURL(Self.address))
    request.method = .tus
    var machine = TusMachine(UploadStart(request, empty, isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.offered))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    #expect(machine.handle(.stored(nil)) == [.checkSource])
  }
}
