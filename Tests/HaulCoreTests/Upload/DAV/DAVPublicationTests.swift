import FoundationEssentials
import HaulCore
import Testing

/// Several runs of the transfer of a remote source to one file of a WebDAV server.
@Suite struct DAVPublicationTests {
  private static let samples = DAVMachineTests()
  private static let window = Int64(UploadExtent.window)
  private static let digest = Checksum(.sha256, bytes: Array(repeating: 7, count: 32))
  private static let address = "http://h.example/a/f"

  /// A machine of a run with a remote source.
  private static func machine(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> DAVMachine {
    var request = UploadRequest(
      from: DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream),
      to: try ResourceURL(address))
    request.method = .webDAV
    change(&request)
    return DAVMachine(
      UploadStart(
        request, SourceIdentity(stream: 7, length: nil), UploadExtent(end: 0, isWhole: false),
        isAttended: false,
        now: Instant()))
  }

  /// The properties of a file.
  private static func file(_ tag: String, length: Int64 = 5) throws -> UploadEvent {
    try samples.properties(
      "<d:getcontentlength>\(length)</d:getcontentlength><d:resourcetype/>"
        + "<d:getetag>\"\(tag)\"</d:getetag>")
  }

  /// The answer to HEAD about a file.
  private static func content(
    length: Int64 = 5, _ digest: Checksum? = digest
  ) throws -> UploadEvent {
    let digests = digest.map {
      [("Repr-Digest", "sha-256=:\(Data($0.bytes).base64EncodedString()):")]
    }
    return try answer(200, [("Content-Length", "\(length)")] + (digests ?? []))
  }

  /// A machine whose five bytes are whole under the temporary name.
  private static func stored(
    over beginning: [UploadEvent], length: Int64 = 5,
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> DAVMachine {
    var machine = try machine(change)
    #expect(try message(machine.handle(.start(nil))).method == "PROPFIND")
    var commands: [UploadCommand] = []
    for answer in beginning { commands = machine.handle(answer) }
    #expect(try message(commands).method == "MKCOL")
    _ = machine.handle(try answer(405))
    // The first byte is read after the question.
    #expect(machine.handle(.stored(nil)) == [.read(UploadExtent.window)])
    let isWhole = length <= window
    let extent = UploadExtent(end: min(length, window), isWhole: isWhole)
    #expect(try message(machine.handle(.read(extent))).sendsStream == !isWhole)
    if !isWhole { _ = machine.handle(.streamSent(length: length)) }
    #expect(try message(machine.handle(try answer(201, sent: length))).method == "HEAD")
    #expect(machine.handle(try content(length: length, nil)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "PROPFIND")
    return machine
  }

  /// Checks that a file that was not there is compared, and is the result if it is the same.
  private static func expectComparison(
    _ machine: DAVMachine, after found: UploadEvent
  ) throws {
    var machine = machine
    let look = try message(machine.handle(found))
    #expect((look.method, look.url.absoluteString) == ("HEAD", address))
    var (same, other, unknown) = (machine, machine, machine)
    let digest = try #require(digest)
    #expect(same.handle(try content()) == [.digest(0..<5, part: 0, [.sha256])])
    let adopted = same.handle(.digested(part: 0, .success([digest])))
    #expect(adopted.first == .reportAdoption(length: 5))
    #expect(try message(adopted).method == "DELETE")
    #expect(same.handle(try answer(204)) == [.deleteRecord, .finish(.completed)])
    _ = other.handle(try content())
    let own = try #require(Checksum(.sha256, bytes: Array(repeating: 8, count: 32)))
    #expect(try message(other.handle(.digested(part: 0, .success([own])))).method == "DELETE")
    #expect(failure(of: other.handle(try answer(204)))?.code == .nameConflict)
    #expect(try message(unknown.handle(try content(nil))).method == "DELETE")
    #expect(failure(of: unknown.handle(try answer(204)))?.message.contains("compare it") == true)
  }

  @Test func `A file that was not there at the beginning is never replaced`() throws {
    let machine = try Self.stored(over: [try answer(404)])
    try Self.expectComparison(machine, after: try Self.file("t1"))
    var unseen = machine
    let move = try message(unseen.handle(try answer(404)))
    #expect((move.method, move.fields["Overwrite"]) == ("MOVE", "F"))
    #expect(try message(unseen.handle(try answer(412))).method == "PROPFIND")
    try Self.expectComparison(unseen, after: try Self.file("t1"))
  }

  @Test func `A file that was there is replaced as long as it is the same`() throws {
    let machine = try Self.stored(over: [try Self.file("t0", length: 9)])
    var same = machine
    let move = try message(same.handle(try Self.file("t0", length: 9)))
    #expect((move.method, move.fields["Overwrite"]) == ("MOVE", "T"))
    try Self.expectComparison(machine, after: try Self.file("t1"))
  }

  @Test func `A server without PROPFIND answers HEAD`() throws {
    var machine = try Self.stored(over: [try answer(405), try answer(404)])
    #expect(try message(machine.handle(try answer(405))).fields["Overwrite"] == "F")
    #expect(try message(machine.handle(try answer(412))).method == "PROPFIND")
    #expect(try message(machine.handle(try answer(405))).method == "HEAD")
    try Self.expectComparison(machine, after: try Self.content(nil))
    let silence = TransferError(.stalled, "silence", isRetryable: true)
    var silent = try Self.machine()
    _ = silent.handle(.start(nil))
    #expect(retried(silent.handle(.failed(silence, sent: 0))) != nil)
    #expect(try message(silent.handle(.start(nil))).method == "PROPFIND")
    #expect(try message(silent.handle(.failed(silence, sent: 0))).method == "HEAD")
  }

  @Test func `A server that fails at the first question is asked again`() throws {
    for status in [500, 503, 507] {
      var machine = try Self.machine()
      _ = machine.handle(.start(nil))
      #expect(retried(machine.handle(try answer(status))) != nil)
      #expect(try message(machine.handle(.start(nil))).method == "PROPFIND")
    }
  }

  @Test func `With fail, only what is there later and the same is the result`() throws {
    var early = try Self.machine { $0.precondition = .absent }
    _ = early.handle(.start(nil))
    #expect(failure(of: early.handle(try Self.file("t0")))?.code == .nameConflict)
    var machine = try Self.stored(over: [try answer(404)]) { $0.precondition = .absent }
    _ = machine.handle(try Self.file("t1"))
    _ = machine.handle(try Self.content())
    let digest = try #require(Self.digest)
    let adopted = machine.handle(.digested(part: 0, .success([digest])))
    #expect(adopted.first == .reportAdoption(length: 5))
  }

  @Test func `Of a stream that is gone, the server compares what it has under both names`() throws {
    let length = Self.window + 5
    for isSame in [true, false] {
      var machine = try Self.stored(over: [try answer(404)], length: length)
      _ = machine.handle(try Self.file("t1", length: length))
      let look = try message(machine.handle(try Self.content(length: length)))
      #expect((look.method, look.url.path.hasSuffix(".tmp")) == ("HEAD", true))
      let other = Checksum(.sha256, bytes: Array(repeating: 8, count: 32))
      let commands = machine.handle(
        try Self.content(length: length, isSame ? Self.digest : other))
      #expect((commands.first == .reportAdoption(length: length)) == isSame)
      #expect(try message(commands).method == "DELETE")
    }
  }

  @Test func `A file of another length after the MOVE is that of another run`() throws {
    var machine = try Self.stored(over: [try answer(404)])
    _ = machine.handle(try answer(404))
    #expect(try message(machine.handle(try answer(201))).method == "HEAD")
    #expect(try message(machine.handle(try Self.content(length: 9, nil))).method == "PROPFIND")
    #expect(try message(machine.handle(try Self.file("t1", length: 9))).method == "HEAD")
    _ = machine.handle(try Self.content(length: 9, nil))
    #expect(failure(of: machine.handle(try answer(404)))?.code == .nameConflict)
  }

  @Test(arguments: [nil, "t0"])
  func `A file that is sent to its own name has the condition of the beginning`(
    tag: String?
  ) throws {
    var machine = try Self.machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try tag.map { try Self.file($0) } ?? answer(404))
    _ = machine.handle(try answer(405))
    _ = machine.handle(.stored(nil))
    _ = machine.handle(.read(UploadExtent(end: 5)))
    #expect(try message(machine.handle(try answer(403))).method == "DELETE")
    _ = machine.handle(try answer(404))
    let put = try message(machine.handle(.start(nil)))
    #expect((put.method, put.url.absoluteString) == ("PUT", Self.address))
    #expect(put.fields["If-None-Match"] == (tag == nil ? "*" : nil))
    #expect(put.fields["If-Match"] == tag.map { "\"\($0)\"" })
  }
}
