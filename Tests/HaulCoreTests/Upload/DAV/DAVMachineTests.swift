import HaulCore
import Testing

/// What the machine of WebDAV does, event by event.
@Suite struct DAVMachineTests {
  static let address = "http://h.example/a/b/f.bin?k=v"
  let source = SourceIdentity(
    FileStatus(
      kind: .regular, device: 1, inode: 2, size: 100, owner: 0, mode: 0o644, links: 1,
      modified: 3))
  let lost = TransferError(.connectionLost, "lost", isRetryable: true)

  func machine(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> DAVMachine {
    var request = UploadRequest("/d/f.bin", to: try ResourceURL(Self.address))
    request.method = .webDAV
    change(&request)
    return DAVMachine(UploadStart(request, source, isAttended: false, now: Instant()))
  }

  /// A machine whose file is being sent.
  func sending(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> DAVMachine {
    var machine = try machine(change)
    var commands = machine.handle(.start(nil))
    if try message(commands).method == "HEAD" { commands = machine.handle(try answer(404)) }
    #expect(try message(commands).method == "MKCOL")
    _ = machine.handle(try answer(405))
    #expect(try message(machine.handle(.stored(nil))).method == "PUT")
    return machine
  }

  /// A machine that waits for the answer to MOVE.
  func moving(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> DAVMachine {
    var machine = try stored(change)
    let look = try message(machine.handle(.sourceChecked(nil)))
    #expect((look.method, look.url.path) == ("PROPFIND", "/a/b/f.bin"))
    #expect(try message(machine.handle(try answer(404))).method == "MOVE")
    return machine
  }

  /// A machine whose file is whole under its temporary name.
  func stored(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> DAVMachine {
    var machine = try sending(change)
    #expect(try message(machine.handle(try answer(201))).method == "HEAD")
    #expect(machine.handle(try answer(200, Self.whole)) == [.checkSource])
    return machine
  }

  static let whole = [("Content-Length", "100")]

  /// The answer to PROPFIND of a file of this length.
  func properties(_ length: Int) throws -> UploadEvent {
    try properties("<d:getcontentlength>\(length)</d:getcontentlength>")
  }

  /// The answer to PROPFIND with these elements.
  func properties(_ elements: String) throws -> UploadEvent {
    try answer(
      207,
      body: """
        <?xml version="1.0"?><d:multistatus xmlns:d="DAV:"><d:response><d:href>/x</d:href>
        <d:propstat><d:prop>\(elements)</d:prop>
        <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>
        """)
  }

  /// A machine that looks for the temporary name, because the answer to MOVE was lost.
  func looking(_ change: (inout UploadRequest) -> Void = { _ in }) throws -> DAVMachine {
    var machine = try moving(change)
    #expect(isRetry(machine.handle(.failed(lost, sent: 0))))
    let look = try message(machine.handle(.start(nil)))
    #expect(look.method == "HEAD")
    #expect(look.url.path.hasSuffix(".tmp"))
    return machine
  }

  /// Expects that the target is asked for after this answer to MOVE, and completes the upload.
  func expectProof(_ machine: inout DAVMachine, after status: Int) throws {
    let look = try message(machine.handle(try answer(status)))
    #expect((look.method, look.url.absoluteString) == ("HEAD", Self.address))
    #expect(machine.handle(try answer(200, Self.whole)) == [.deleteRecord, .finish(.completed)])
  }

  func isRetry(_ commands: [UploadCommand]) -> Bool {
    if case .retry? = commands.last { true } else { false }
  }

  @Test func `A file is sent to a temporary name, checked, and moved to its own`() throws {
    var machine = try machine { $0.headers = [("Content-Type", "text/csv"), ("X-Key", "k")] }
    let make = try message(machine.handle(.start(nil)))
    #expect((make.method, make.url.absoluteString) == ("MKCOL", "http://h.example/a/b/?k=v"))
    #expect(make.fields["Content-Type"] == nil)
    guard case .storeRecord(let record)? = machine.handle(try answer(201)).last else {
      Issue.record("nothing is stored before the file is sent")
      return
    }
    let part = try ResourceURL(record.address)
    #expect(part.path.hasPrefix("/a/b/haul-"))
    let put = try message(machine.handle(.stored(nil)))
    #expect((put.method, put.url, put.range) == ("PUT", part, 0..<100))
    #expect(put.fields["Content-Type"] == "text/csv")
    let measure = try message(machine.handle(try answer(201)))
    #expect((measure.method, measure.url) == ("HEAD", part))
    #expect(machine.handle(try answer(200, Self.whole)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "PROPFIND")
    let move = try message(machine.handle(try answer(404)))
    #expect((move.method, move.url, move.range) == ("MOVE", part, nil))
    #expect(move.fields["Destination"] == "/a/b/f.bin?k=v")
    #expect(move.fields["Overwrite"] == "F")
    #expect(move.fields["X-Key"] == "k")
    try expectProof(&machine, after: 204)
  }

  @Test func `Missing directories are made from the top`() throws {
    var machine = try machine()
    #expect(try message(machine.handle(.start(nil))).url.path == "/a/b/")
    #expect(try message(machine.handle(try answer(409))).url.path == "/a/")
    #expect(try message(machine.handle(try answer(201))).url.path == "/a/b/")
    guard case .storeRecord? = machine.handle(try answer(201)).last else {
      Issue.record("the file is not sent")
      return
    }
  }

  @Test func `A directory that cannot be made is an error`() throws {
    var above = try machine()
    _ = above.handle(.start(nil))
    _ = above.handle(try answer(409))
    #expect(try message(above.handle(try answer(409))).method == "PROPFIND")
    #expect(failure(of: above.handle(try answer(404)))?.code == .notFound)
    var below = try machine()
    _ = below.handle(.start(nil))
    _ = below.handle(try answer(409))
    _ = below.handle(try answer(405))
    #expect(try message(below.handle(try answer(409))).method == "PROPFIND")
    #expect(failure(of: below.handle(try answer(404)))?.code == .notFound)
  }

  @Test(arguments: [403, 501])
  func `A server that refuses to make directories may still take the file`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    guard case .storeRecord? = machine.handle(try answer(status)).last else {
      Issue.record("the file is not sent")
      return
    }
  }

  @Test func `A directory is made and nothing is sent`() throws {
    var machine = try machine {
      $0.source = .file("/d/b/")
      $0.url = (try? ResourceURL("http://h.example/a/b/")) ?? $0.url
    }
    #expect(try message(machine.handle(.start(nil))).url.path == "/a/b/")
    #expect(machine.handle(try answer(405)) == [.deleteRecord, .finish(.completed)])
    var refused = try self.machine { $0.source = .file("/d/b/") }
    _ = refused.handle(.start(nil))
    #expect(try message(refused.handle(try answer(403))).method == "PROPFIND")
    #expect(failure(of: refused.handle(try answer(404)))?.code == .forbidden)
  }

  @Test func `A source that changed is never moved to its name`() throws {
    var machine = try stored()
    let changed = TransferError(.sourceChanged, "it changed")
    #expect(try message(machine.handle(.sourceChecked(changed))).method == "DELETE")
    #expect(
      machine.handle(try answer(204)) == [.deleteRecord, .finish(.failed(changed))])
  }

  @Test func `A refusal deletes the temporary name, with one attempt`() throws {
    var machine = try sending()
    #expect(try message(machine.handle(try answer(507))).method == "DELETE")
    #expect(failure(of: machine.handle(.failed(lost, sent: 0)))?.status == 507)
  }

  @Test func `A success before the whole file was sent is an error`() throws {
    var machine = try sending()
    #expect(try message(machine.handle(try answer(201, sent: 99))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .protocolViolation)
  }

  @Test func `A file that must not exist is asked for, and never replaced`() throws {
    var there = try machine { $0.precondition = .absent }
    #expect(try message(there.handle(.start(nil))).url == (try ResourceURL(Self.address)))
    #expect(failure(of: there.handle(try answer(200)))?.code == .nameConflict)
    var machine = try stored { $0.precondition = .absent }
    _ = machine.handle(.sourceChecked(nil))
    #expect(try message(machine.handle(try answer(404))).fields["Overwrite"] == "F")
    #expect(try message(machine.handle(try answer(412))).method == "DELETE")
    let error = failure(of: machine.handle(try answer(204)))
    #expect(error?.code == .nameConflict)
    #expect(error?.message.contains("earlier attempt") == false)
  }

  @Test func `One version only cannot be replaced`() throws {
    var machine = try machine { $0.precondition = .entityTag("\"a\"") }
    #expect(failure(of: machine.handle(.start(nil)))?.code == .notYetSupported)
  }

  @Test func `A lost connection sends the whole file to the same temporary name`() throws {
    var machine = try sending()
    #expect(isRetry(machine.handle(.failed(lost, sent: 50))))
    let put = try message(machine.handle(.start(nil)))
    #expect((put.method, put.range) == ("PUT", 0..<100))
  }

  @Test func `A lost answer to MOVE is a success only if the file is there whole`() throws {
    var machine = try looking()
    #expect(try message(machine.handle(try answer(404))).url.path == "/a/b/f.bin")
    #expect(
      machine.handle(try answer(200, [("Content-Length", "100")])) == [
        .deleteRecord, .finish(.completed),
      ])
  }

  @Test(arguments: [[("Content-Length", "99")], []])
  func `A file of another length, or of none, proves nothing and is sent again`(
    fields: [(String, String)]
  ) throws {
    var machine = try looking()
    _ = machine.handle(try answer(404))
    #expect(try message(machine.handle(try answer(200, fields))).method == "PROPFIND")
    #expect(isRetry(machine.handle(try properties(99))))
    #expect(try message(machine.handle(.start(nil))).method == "PUT")
    var absent = try looking { $0.precondition = .absent }
    _ = absent.handle(try answer(404))
    _ = absent.handle(try answer(200, fields))
    #expect(try message(absent.handle(try properties(99))).method == "DELETE")
    let error = failure(of: absent.handle(try answer(404)))
    #expect(error?.code == .nameConflict)
    #expect(error?.message.contains("earlier attempt of this upload may have stored it") == true)
  }

  @Test func `A lost MOVE that had no effect is repeated`() throws {
    var machine = try looking()
    #expect(machine.handle(try answer(200)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "MOVE")
    try expectProof(&machine, after: 201)
  }

  @Test func `A repeated MOVE that comes too late looks again`() throws {
    var machine = try looking()
    _ = machine.handle(try answer(200))
    _ = machine.handle(.sourceChecked(nil))
    #expect(try message(machine.handle(try answer(404))).method == "HEAD")
    _ = machine.handle(try answer(404))
    #expect(
      machine.handle(try answer(200, [("Content-Length", "100")])).last == .finish(.completed))
  }

  @Test func `A repeated MOVE that is refused while the temporary name exists is a conflict`()
    throws
  {
    var machine = try looking { $0.precondition = .absent }
    _ = machine.handle(try answer(200))
    _ = machine.handle(.sourceChecked(nil))
    #expect(try message(machine.handle(try answer(412))).method == "HEAD")
    #expect(try message(machine.handle(try answer(200))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .nameConflict)
  }

  @Test(arguments: [500, 502, 504, 520, 524])
  func `An answer that leaves open what MOVE did is none`(status: Int) throws {
    var machine = try moving()
    #expect(isRetry(machine.handle(try answer(status))))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
  }

  @Test func `A MOVE that found no temporary name never counts as done`() throws {
    var machine = try moving()
    #expect(try message(machine.handle(try answer(404))).method == "MOVE")
    #expect(isRetry(machine.handle(try answer(404))))
    #expect(try message(machine.handle(.start(nil))).method == "PUT")
  }

  @Test func `What happened stays open when every attempt fails, and the message says so`()
    throws
  {
    var machine = try moving { $0.retry.retries = 0 }
    #expect(try message(machine.handle(.failed(lost, sent: 0))).method == "HEAD")
    #expect(try message(machine.handle(.failed(lost, sent: 0))).method == "DELETE")
    let error = failure(of: machine.handle(.failed(lost, sent: 0)))
    #expect(error?.message.hasSuffix("may have stored the file all the same: look there") == true)
  }

  @Test func `What an earlier run left under its temporary name is replaced`() throws {
    var machine = try machine()
    let record = UploadRecord(address: "http://h.example/a/b/haul-1.part?k=v", source: source)
    _ = machine.handle(.start(record))
    let put = try message(machine.handle(try answer(405)))
    #expect((put.method, put.url.absoluteString) == ("PUT", record.address))
  }

  @Test func `A cancelled upload deletes its temporary name, with its password`() throws {
    let request = UploadRequest("/f", to: try ResourceURL("http://u:p@h.example/f"))
    let record = UploadRecord(address: "http://h.example/haul-1.part", source: source)
    let delete = try #require(DAVMachine.terminations(of: record, request).first)
    #expect((delete.method, delete.url.absoluteString) == ("DELETE", record.address))
    #expect(delete.url.credentials?.password == "p")
  }
}
