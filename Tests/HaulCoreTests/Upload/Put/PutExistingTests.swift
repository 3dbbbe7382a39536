import FoundationEssentials
import HaulCore
import Testing

/// `--if-exists skip` and `update` by PUT: what is there is asked first.
@Suite struct PutExistingTests {
  private static let now: Int64 = 1_700_000_000
  private static let digest = Checksum(.sha256, bytes: Array(repeating: 7, count: 32))
  private static let other = Checksum(.sha256, bytes: Array(repeating: 8, count: 32))
  private static let md5 = Checksum("md5=0123456789abcdef0123456789abcdef")
  private static let lost = TransferError(.connectionLost, "lost", isRetryable: true)

  /// A machine that has asked, of a file of five bytes that changed 100 s ago.
  private static func asking(
    _ ifExists: UploadRequest.IfExists, hasRun: Bool = false
  ) throws -> any UploadMachine {
    let request = try UploadRequest.updating(ifExists)
    var machine = UploadRequest.Method.put.uploadProtocol.machine(
      UploadStart(
        request, S3MachineTests.source(5), changed: Double(now) - 100, hasRun: hasRun,
        isAttended: false, now: Instant()))
    let look = try message(machine.handle(.start(nil)))
    #expect((look.method, look.isOptional) == ("HEAD", false))
    #expect(look.fields["Want-Repr-Digest"] != nil && look.fields["Cache-Control"] == "no-cache")
    return machine
  }

  /// The answer about a file that was stored so many seconds ago.
  private static func file(
    ago: Int64 = 200, length: Int64? = 5, digest: Checksum? = nil, tag: String? = "\"t0\"",
    _ more: (String, String)...
  ) throws -> UploadEvent {
    func date(_ seconds: Int64) -> String { HTTPDate(secondsSince1970: seconds).imfFixdate }
    let fields = [
      length.map { ("Content-Length", "\($0)") }, tag.map { ("ETag", $0) },
      digest.map { ("Repr-Digest", "sha-256=:\(Data($0.bytes).base64EncodedString()):") },
    ]
    return try answer(
      200,
      [("Date", date(now)), ("Last-Modified", date(now - ago))] + fields.compactMap(\.self) + more)
  }

  private static func conditions(_ message: UploadMessage) -> [String] {
    message.fields.fields.filter { $0.name.hasPrefix("If-") }.map { "\($0.name): \($0.value)" }
  }

  private static func expectSent(_ commands: [UploadCommand], _ conditions: [String]) throws {
    let put = try message(commands)
    #expect(put.method == "PUT" && Self.conditions(put) == conditions)
  }

  // MARK: update

  @Test func `A later date and the same length keep the file, if the source did not change`()
    throws
  {
    var machine = try Self.asking(.update)
    #expect(machine.handle(try Self.file(ago: 50)) == [.checkSource])
    var changed = machine
    #expect(
      machine.handle(.sourceChecked(nil))
        == [.reportPresent(PresentFile(length: 5, .length)), .finish(.completed)])
    let error = TransferError(.sourceChanged, "it was written to")
    #expect(failure(of: changed.handle(.sourceChecked(error)))?.code == .sourceChanged)
  }

  @Test func `An older date or another length sends the file over the one that was seen`() throws {
    for found in [
      try Self.file(), try Self.file(ago: 50, length: 6), try Self.file(ago: 50, length: 4),
    ] {
      var machine = try Self.asking(.update)
      try Self.expectSent(machine.handle(found), ["If-Match: \"t0\""])
    }
    var absent = try Self.asking(.update)
    try Self.expectSent(absent.handle(try answer(404)), ["If-None-Match: *"])
  }

  @Test func `A digest that the server states decides, whatever the date`() throws {
    let (digest, other) = (try #require(Self.digest), try #require(Self.other))
    for ago: Int64 in [50, 200] {
      var machine = try Self.asking(.update)
      let found = try Self.file(ago: ago, digest: digest)
      #expect(machine.handle(found) == [.digest(0..<5, part: 0, [.sha256])])
      var changed = machine
      #expect(machine.handle(.digested(part: 0, .success([digest]))) == [.checkSource])
      let present = PresentFile(length: 5, .checksum, checksums: [digest])
      #expect(
        machine.handle(.sourceChecked(nil)) == [.reportPresent(present), .finish(.completed)])
      // The same length, and an older date: only the digest tells.
      try Self.expectSent(
        changed.handle(.digested(part: 0, .success([other]))), ["If-Match: \"t0\""])
    }
  }

  @Test func `An entity tag that is the MD5 keeps an older file; any other tag says nothing`()
    throws
  {
    let md5 = try #require(Self.md5)
    var machine = try Self.asking(.update)
    let tag = "\"\(md5.hex)\""
    #expect(machine.handle(try Self.file(tag: tag)) == [.digest(0..<5, part: 0, [.md5])])
    var changed = machine
    #expect(machine.handle(.digested(part: 0, .success([md5]))) == [.checkSource])
    let own = try #require(Checksum("md5=1123456789abcdef0123456789abcdef"))
    try Self.expectSent(changed.handle(.digested(part: 0, .success([own]))), ["If-Match: \(tag)"])
    // A weak tag is none of the content, and no condition.
    var weak = try Self.asking(.update)
    try Self.expectSent(weak.handle(try Self.file(tag: "W/\(tag)")), [])
  }

  @Test func `What says nothing of the file is never taken for it`() throws {
    for found in [
      try Self.file(ago: 50, length: nil), try Self.file(ago: 50, ("Content-Type", "text/html")),
      try Self.file(ago: 50, ("Content-Encoding", "gzip")), try Self.file(ago: 50, ("Age", "9")),
      try answer(403), try answer(405), try answer(501), try answer(400), try answer(302),
      try answer(401),
    ] {
      var machine = try Self.asking(.update)
      #expect(try message(machine.handle(found)).method == "PUT")
    }
    var busy = try Self.asking(.update)
    #expect(retried(busy.handle(try answer(503))) != nil)
    #expect(try message(busy.handle(.start(nil))).method == "HEAD")
  }

  @Test(arguments: [UploadRequest.IfExists.skip, .update])
  func `A server that fails at the question is asked again, and then nothing is sent`(
    ifExists: UploadRequest.IfExists
  ) throws {
    var (machine, retries) = (try Self.asking(ifExists), 0)
    while retried(machine.handle(try answer(500))) != nil {
      retries += 1
      #expect(try message(machine.handle(.start(nil))).method == "HEAD")
      if retries > 20 { break }
    }
    #expect(retries == RetryPolicy().retries)
    var last = try Self.asking(ifExists)
    let error = retried(last.handle(try answer(500)))
    #expect(error?.fact == "the server answered 500 to the question what it has there")
  }

  @Test func `A file that another one has replaced since is not replaced`() throws {
    var machine = try Self.asking(.update)
    _ = machine.handle(try Self.file())
    #expect(try message(machine.handle(try answer(412, sent: 5))).method == "HEAD")
    let error = failure(of: machine.handle(try Self.file(tag: "\"t1\"")))
    #expect(error?.code == .nameConflict)
  }

  @Test func `After a change while it was sent, the advice is to replace what is there`() throws {
    var machine = try Self.asking(.update)
    _ = machine.handle(try answer(404))
    #expect(machine.handle(try answer(201, sent: 5)) == [.checkSource])
    let changed = TransferError(.sourceChanged, "it was written to", advice: "upload it again")
    let error = failure(of: machine.handle(.sourceChecked(changed)))
    #expect(error?.advice?.contains("its date there is later") == true)
  }

  // MARK: skip

  @Test func `A file that is there is skipped, whatever its length and date`() throws {
    for (length, ago) in [(5, 50), (6, 200)] as [(Int64, Int64)] {
      var machine = try Self.asking(.skip)
      #expect(
        machine.handle(try Self.file(ago: ago, length: length))
          == [.reportPresent(PresentFile(length: length)), .finish(.completed)])
    }
  }

  @Test func `What need not be a file is not skipped: the server must have none`() throws {
    for found in [
      try answer(404), try answer(403), try answer(405), try answer(400),
      try Self.file(length: nil), try Self.file(("Content-Type", "text/html")),
    ] {
      var machine = try Self.asking(.skip)
      try Self.expectSent(machine.handle(found), ["If-None-Match: *"])
    }
  }

  @Test func `A file that came meanwhile is skipped once HEAD shows it`() throws {
    var machine = try Self.asking(.skip)
    _ = machine.handle(try answer(404))
    #expect(try message(machine.handle(try answer(412, sent: 5))).method == "HEAD")
    var (gone, hidden) = (machine, machine)
    #expect(
      machine.handle(try Self.file(length: 9))
        == [.reportPresent(PresentFile(length: 9)), .finish(.completed)])
    // Some servers take each condition for one that does not hold.
    #expect(retried(gone.handle(try answer(404))) != nil)
    #expect(failure(of: hidden.handle(try answer(403)))?.code == .nameConflict)
  }

  @Test func `What an earlier attempt may have left in part is no file that was there`() throws {
    var machine = try Self.asking(.skip)
    _ = machine.handle(try answer(404))
    #expect(retried(machine.handle(.failed(Self.lost, sent: 3))) != nil)
    #expect(try message(machine.handle(.start(nil))).method == "PUT")
    #expect(try message(machine.handle(try answer(412, sent: 5))).method == "HEAD")
    var whole = machine
    #expect(failure(of: machine.handle(try Self.file(length: 3)))?.code == .nameConflict)
    #expect(whole.handle(try Self.file()).last == .finish(.completed))
    // Of an earlier run of the transfer.
    var again = try Self.asking(.skip, hasRun: true)
    #expect(failure(of: again.handle(try Self.file(length: 3)))?.code == .nameConflict)
  }

  @Test func `A server that refuses the condition gets the file only while it has none`() throws {
    var machine = try Self.asking(.skip)
    _ = machine.handle(try answer(403))
    let commands = machine.handle(try answer(501))
    #expect(try message(commands).method == "HEAD")
    var hidden = machine
    try Self.expectSent(machine.handle(try answer(404)), [])
    #expect(failure(of: hidden.handle(try answer(403)))?.code == .nameConflict)
  }

  @Test func `An upload that replaces asks nothing`() throws {
    let request = try UploadRequest.updating(.overwrite)
    var machine = UploadRequest.Method.put.uploadProtocol.machine(
      UploadStart(
        request, S3MachineTests.source(5), changed: 1, isAttended: false, now: Instant()))
    try Self.expectSent(machine.handle(.start(nil)), [])
  }
}
