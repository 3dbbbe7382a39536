import HaulCore
import Testing

/// `--if-exists skip` and `update` by WebDAV: PROPFIND is asked first, or HEAD.
@Suite struct DAVExistingTests {
  private static let samples = DAVMachineTests()
  private static let now: Int64 = 1_700_000_000

  /// A machine that has asked, of a file of a hundred bytes that changed 100 s ago.
  private static func asking(
    _ ifExists: UploadRequest.IfExists, hasRun: Bool = false
  ) throws -> DAVMachine {
    var request = UploadRequest("/d/f.bin", to: try ResourceURL(DAVMachineTests.address))
    (request.method, request.ifExists) = (.webDAV, ifExists)
    var machine = DAVMachine(
      UploadStart(
        request, samples.source, changed: Double(now) - 100, hasRun: hasRun, isAttended: false,
        now: Instant()))
    #expect(try message(machine.handle(.start(nil))).method == "PROPFIND")
    return machine
  }

  private static func date(ago: Int64) -> String {
    HTTPDate(secondsSince1970: now - ago).imfFixdate
  }

  /// The properties of a file that was stored so many seconds ago.
  private static func file(ago: Int64, length: Int? = 100, date: Bool = true) throws -> UploadEvent
  {
    let size = length.map { "<d:getcontentlength>\($0)</d:getcontentlength>" } ?? ""
    let elements =
      size + "<d:resourcetype/><d:getetag>\"t0\"</d:getetag>"
      + "<d:getlastmodified>\(Self.date(ago: ago))</d:getlastmodified>"
    guard case .answered(let plain) = try samples.properties(elements) else { return .start(nil) }
    return try answer(
      207, date ? [("Date", Self.date(ago: 0))] : [],
      body: String(decoding: plain.body, as: UTF8.self))
  }

  @Test func `A later date and the same length keep the file`() throws {
    var machine = try Self.asking(.update)
    #expect(machine.handle(try Self.file(ago: 50)) == [.checkSource])
    var changed = machine
    #expect(
      machine.handle(.sourceChecked(nil))
        == [.reportPresent(PresentFile(length: 100, .length)), .finish(.completed)])
    let error = TransferError(.sourceChanged, "it was written to")
    #expect(failure(of: changed.handle(.sourceChecked(error)))?.code == .sourceChanged)
  }

  @Test func `What is older, or says too little, is sent`() throws {
    for found in [
      try Self.file(ago: 200), try Self.file(ago: 50, length: 99),
      try Self.file(ago: 50, length: nil), try Self.file(ago: 50, date: false), try answer(404),
    ] {
      var machine = try Self.asking(.update)
      #expect(try message(machine.handle(found)).method == "MKCOL")
    }
  }

  @Test func `A server without PROPFIND is asked with HEAD, whose dates count as well`() throws {
    let fields = [("Content-Length", "100"), ("Date", Self.date(ago: 0))]
    for status in [405, 403, 501] {
      var machine = try Self.asking(.update)
      #expect(try message(machine.handle(try answer(status))).method == "HEAD")
      var (older, page, hidden) = (machine, machine, machine)
      let later = fields + [("Last-Modified", Self.date(ago: 50))]
      #expect(machine.handle(try answer(200, later)) == [.checkSource])
      let dated = fields + [("Last-Modified", Self.date(ago: 200))]
      #expect(try message(older.handle(try answer(200, dated))).method == "MKCOL")
      let html = later + [("Content-Type", "text/html")]
      #expect(try message(page.handle(try answer(200, html))).method == "MKCOL")
      #expect(try message(hidden.handle(try answer(403))).method == "MKCOL")
    }
  }

  @Test func `Any file that is there is skipped`() throws {
    for length in [100, 7] {
      var machine = try Self.asking(.skip)
      let kept = UploadCommand.reportPresent(PresentFile(length: Int64(length)))
      #expect(
        machine.handle(try Self.file(ago: 200, length: length)) == [kept, .finish(.completed)])
      var byHead = try Self.asking(.skip)
      _ = byHead.handle(try answer(405))
      let head = try answer(200, [("Content-Length", "\(length)")])
      #expect(byHead.handle(head) == [kept, .finish(.completed)])
    }
  }

  @Test func `Of several resources, the one that was asked for counts`() throws {
    func found(_ names: [(String, Int)]) throws -> UploadEvent {
      let responses = names.map { name, length in
        "<d:response><d:href>/d/\(name)</d:href><d:propstat><d:prop>"
          + "<d:getcontentlength>\(length)</d:getcontentlength><d:resourcetype/>"
          + "<d:getlastmodified>\(Self.date(ago: 50))</d:getlastmodified></d:prop></d:propstat>"
          + "</d:response>"
      }
      return try answer(
        207, [("Date", Self.date(ago: 0))],
        body: "<d:multistatus xmlns:d=\"DAV:\">\(responses.joined())</d:multistatus>")
    }
    var own = try Self.asking(.update)
    #expect(own.handle(try found([("x", 5), ("%66", 100)])) == [.checkSource])
    var another = try Self.asking(.update)
    #expect(try message(another.handle(try found([("x", 100), ("f", 5)]))).method == "MKCOL")
  }

  @Test func `A directory of that name is an error`() throws {
    for way in [UploadRequest.IfExists.skip, .update] {
      var machine = try Self.asking(way)
      let found = try Self.samples.properties("<d:resourcetype><d:collection/></d:resourcetype>")
      #expect(failure(of: machine.handle(found))?.code == .nameConflict)
    }
  }

  @Test func `A file that came meanwhile is skipped, and what was sent is deleted`() throws {
    var machine = try Self.asking(.skip)
    #expect(try message(machine.handle(try answer(404))).method == "MKCOL")
    _ = machine.handle(try answer(405))
    #expect(try message(machine.handle(.stored(nil))).method == "PUT")
    _ = machine.handle(try answer(201))
    #expect(machine.handle(try answer(200, DAVMachineTests.whole)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "PROPFIND")
    var moving = machine
    let kept = machine.handle(try Self.file(ago: 1, length: 7))
    #expect(kept.first == .reportPresent(PresentFile(length: 7)))
    #expect(try message(kept).method == "DELETE")
    #expect(machine.handle(try answer(204)) == [.deleteRecord, .finish(.completed)])
    // It comes between the look and the MOVE.
    let move = try message(moving.handle(try answer(404)))
    #expect((move.method, move.fields["Overwrite"]) == ("MOVE", "F"))
    #expect(try message(moving.handle(try answer(412))).method == "PROPFIND")
    #expect(try message(moving.handle(try Self.file(ago: 1, length: 7))).method == "DELETE")
  }

  @Test func `What an earlier run may have left in part is compared`() throws {
    var machine = try Self.asking(.skip, hasRun: true)
    #expect(try message(machine.handle(try Self.file(ago: 50, length: 7))).method == "HEAD")
    let head = try answer(200, [("Content-Length", "7")])
    #expect(failure(of: machine.handle(head))?.code == .nameConflict)
    var whole = try Self.asking(.skip, hasRun: true)
    #expect(whole.handle(try Self.file(ago: 50)).last == .finish(.completed))
  }

  @Test func `A directory is made as before`() throws {
    var request = UploadRequest("/d/", to: try ResourceURL("http://h.example/a/b/"))
    (request.method, request.ifExists) = (.webDAV, .update)
    var machine = DAVMachine(
      UploadStart(request, Self.samples.source, isAttended: false, now: Instant()))
    #expect(try message(machine.handle(.start(nil))).method == "MKCOL")
  }
}
