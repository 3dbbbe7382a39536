import HaulCore
import Testing

/// What the machines do for a stream of unknown length.
@Suite struct StreamMachineTests {
  private static let window = Int64(UploadExtent.window)
  private static let first = UploadExtent(end: window, isWhole: false)
  private let source = SourceIdentity(stream: 7, length: nil)

  /// The second window, which is the last one.
  private static let last = UploadExtent(start: window, end: window + 5)

  private func request(_ method: UploadRequest.Method) throws -> UploadRequest {
    var request = UploadRequest(to: try ResourceURL("http://h.example/d/f"))
    request.method = method
    return request
  }

  private static let lost = TransferError(.connectionLost, "lost", isRetryable: true)

  // MARK: PUT

  private func put() throws -> PutMachine {
    PutMachine(try request(.put), length: nil, hasRun: false, isAttended: false, now: Instant())
  }

  @Test func `PUT sends the stream, and a success counts only after its end`() throws {
    var machine = try put()
    let sent = try message(machine.handle(.start(nil)))
    #expect(sent.sendsStream)
    #expect(sent.range == nil)
    #expect(machine.handle(.streamSent(length: 12)) == [])
    #expect(machine.handle(try answer(201, sent: 12)) == [.checkSource])

    var early = try put()
    _ = early.handle(.start(nil))
    let error = failure(of: early.handle(try answer(201, sent: 12)))
    #expect(error?.code == .protocolViolation)
  }

  @Test func `PUT is repeated while its first bytes are held, and not after that`() throws {
    var machine = try put()
    _ = machine.handle(.start(nil))
    guard case .retry = machine.handle(.failed(Self.lost, sent: 10)).last else {
      Issue.record("it is not retried")
      return
    }
    #expect(try message(machine.handle(.start(nil))).sendsStream)
    _ = machine.handle(.streamSent(length: nil))
    let error = failure(of: machine.handle(.failed(Self.lost, sent: Self.window + 1)))
    #expect(error?.code == .connectionLost)
    #expect(error?.message.contains("what was read of the source is gone") == true)
  }

  @Test func `A redirect after a part of the stream is an error`() throws {
    var machine = try put()
    _ = machine.handle(.start(nil))
    _ = machine.handle(.streamSent(length: nil))
    let redirect = try answer(307, [("Location", "http://h.example/g")], sent: Self.window + 1)
    #expect(failure(of: machine.handle(redirect))?.code == .redirectRefused)
  }

  @Test func `A server that wants the length is named as such`() throws {
    var machine = try put()
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(411, sent: 10)))
    #expect(error?.message.contains("it needs the length beforehand; save the source") == true)
  }

  // MARK: WebDAV

  @Test func `WebDAV moves a stream that the server has whole, also after a lost answer`() throws {
    var machine = DAVMachine(
      UploadStart(
        try request(.webDAV), source, UploadExtent(end: 0, isWhole: false), isAttended: false,
        now: Instant()))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(405))
    #expect(try message(machine.handle(.stored(nil))).sendsStream)
    #expect(machine.handle(.streamSent(length: 20)) == [])
    #expect(try message(machine.handle(try answer(201, sent: 20))).method == "HEAD")
    #expect(machine.handle(try answer(200, [("Content-Length", "20")])) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "PROPFIND")
    #expect(try message(machine.handle(try answer(404))).method == "MOVE")
    // The file is not sent again for that.
    guard case .retry = machine.handle(.failed(Self.lost, sent: 0)).last else {
      Issue.record("it is not retried")
      return
    }
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    _ = machine.handle(try answer(404))
    let found = machine.handle(try answer(200, [("Content-Length", "20")]))
    #expect(found == [.deleteRecord, .finish(.completed)])
  }

  @Test func `WebDAV deletes its temporary name when the stream cannot be sent again`() throws {
    var machine = DAVMachine(
      UploadStart(
        try request(.webDAV), source, UploadExtent(end: 0, isWhole: false), isAttended: false,
        now: Instant()))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(405))
    _ = machine.handle(.stored(nil))
    _ = machine.handle(.streamSent(length: nil))
    #expect(try message(machine.handle(.failed(Self.lost, sent: 20))).method == "DELETE")
    let error = failure(of: machine.handle(try answer(204)))
    #expect(error?.message.contains("what was read of the source is gone") == true)
  }

  // MARK: tus

  private static func offered(_ extensions: String) -> [(String, String)] {
    [("Tus-Version", "1.0.0"), ("Tus-Extension", extensions)]
  }

  /// A machine whose upload is created, and its first message with bytes.
  private func tus() throws -> (TusMachine, UploadMessage) {
    var machine = TusMachine(
      UploadStart(try request(.tus), source, Self.first, isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    let create = try message(
      machine.handle(try answer(204, Self.offered("creation,creation-defer-length"))))
    #expect(create.fields["Upload-Defer-Length"] == "1")
    #expect(create.fields["Upload-Length"] == nil)
    _ = machine.handle(try answer(201, [("Location", "/u1")]))
    let append = try message(machine.handle(.stored(nil)))
    return (machine, append)
  }

  @Test func `tus sends one window after the other, and the length with the last one`() throws {
    let (created, append) = try tus()
    var machine = created
    #expect(append.range == 0..<Self.window)
    #expect(append.fields["Upload-Length"] == nil)
    let appended = machine.handle(
      try answer(204, [("Upload-Offset", "\(Self.window)")], sent: Self.window))
    #expect(appended == [.reportAcknowledged(Self.window), .read(UploadExtent.window)])
    let second = try message(machine.handle(.read(Self.last)))
    #expect(second.range == Self.window..<(Self.window + 5))
    #expect(second.fields["Upload-Length"] == "\(Self.window + 5)")
    let complete = machine.handle(
      try answer(204, [("Upload-Offset", "\(Self.window + 5)")], sent: 5))
    #expect(complete == [.reportAcknowledged(Self.window + 5), .checkSource])
  }

  @Test func `tus repeats a window from what is held, where the server says`() throws {
    var (machine, _) = try tus()
    _ = machine.handle(.failed(Self.lost, sent: 100))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    let again = try message(
      machine.handle(try answer(200, [("Upload-Offset", "60"), ("Upload-Defer-Length", "1")])))
    #expect(again.range == 60..<Self.window)
    #expect(again.fields["Upload-Length"] == nil)
  }

  @Test func `tus fails if the server has lost bytes that are not held any more`() throws {
    for reply in [try answer(404), try answer(200, [("Upload-Offset", "5")])] {
      var (machine, _) = try tus()
      _ = machine.handle(
        try answer(204, [("Upload-Offset", "\(Self.window)")], sent: Self.window))
      _ = machine.handle(.read(Self.last))
      _ = machine.handle(.failed(Self.lost, sent: 1))
      _ = machine.handle(.start(nil))
      #expect(failure(of: machine.handle(reply)) != nil)
    }
  }

  @Test func `A tus server that needs the length is an error before anything is sent`() throws {
    for reply in [try answer(204, Self.offered("creation")), try answer(405)] {
      var machine = TusMachine(
        UploadStart(try request(.tus), source, Self.first, isAttended: false, now: Instant()))
      _ = machine.handle(.start(nil))
      let error = failure(of: machine.handle(reply))
      #expect(error?.message.contains("save the source to a file") == true)
    }
  }

  // MARK: IETF

  @Test func `A resumable upload is complete with its last window`() throws {
    var machine = ResumableMachine(
      UploadStart(
        try request(.resumable), source, Self.first, hasRun: false,
        isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    let create = try message(
      machine.handle(try answer(204, [("Upload-Limit", "max-age=3600")])))
    #expect(create.fields["Upload-Complete"] == "?0")
    #expect(create.fields["Upload-Length"] == nil)
    _ = machine.handle(try answer(201, [("Location", "/u1")]))
    let append = try message(machine.handle(.stored(nil)))
    #expect((append.range, append.fields["Upload-Complete"]) == (0..<Self.window, "?0"))
    let fields = [("Upload-Offset", "\(Self.window)"), ("Upload-Complete", "?0")]
    let appended = machine.handle(try answer(204, fields, sent: Self.window))
    #expect(appended == [.reportAcknowledged(Self.window), .read(UploadExtent.window)])
    let second = try message(machine.handle(.read(Self.last)))
    #expect(second.range == Self.window..<(Self.window + 5))
    #expect(second.fields["Upload-Complete"] == "?1")
    let complete = machine.handle(try answer(201, [("Upload-Complete", "?1")], sent: 5))
    #expect(complete == [.reportAcknowledged(Self.window + 5), .checkSource])
  }

  @Test func `A server without resumable uploads gets the stream with PUT`() throws {
    var machine = ResumableMachine(
      UploadStart(
        try request(.resumable), source, Self.first, hasRun: false,
        isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(204))
    let sent = try message(machine.handle(try answer(204)))
    #expect(sent.method == "PUT")
    #expect(sent.sendsStream)
  }

  /// What a machine does that has read a window, and then learns the server's limits.
  private func resumable(_ limit: String) throws -> (ResumableMachine, [UploadCommand]) {
    var machine = ResumableMachine(
      UploadStart(
        try request(.resumable), source, Self.first, hasRun: false,
        isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    let commands = machine.handle(try answer(204, [("Upload-Limit", limit)]))
    return (machine, commands)
  }

  @Test func `A resumable stream goes in requests as long as the server wants`() throws {
    let least = Self.window + 10
    let (created, create) = try resumable("min-append-size=\(least)")
    var machine = created
    #expect(try message(create).fields["Upload-Complete"] == "?0")
    _ = machine.handle(try answer(201, [("Location", "/u1")]))
    #expect(machine.handle(.stored(nil)) == [.read(Int(least))])
    let held = UploadExtent(end: least, isWhole: false)
    #expect(try message(machine.handle(.read(held))).range == 0..<least)
    // It has taken some bytes of that, and the others are too few for a request.
    _ = machine.handle(.failed(Self.lost, sent: 100))
    _ = machine.handle(.start(nil))
    let found = try answer(204, [("Upload-Offset", "60"), ("Upload-Complete", "?0")])
    #expect(machine.handle(found) == [.reportAcknowledged(60), .read(Int(least))])
    let last = UploadExtent(start: 60, end: least + 5)
    let rest = try message(machine.handle(.read(last)))
    #expect((rest.range, rest.fields["Upload-Complete"]) == (60..<(least + 5), "?1"))
  }

  @Test func `A server that wants more at once than is held of a stream is an error`() throws {
    let (_, refused) = try resumable("min-append-size=\(ResumableMachine.mostHeld + 1)")
    #expect(failure(of: refused)?.message.contains("save the source to a file") == true)
    let (_, taken) = try resumable("min-append-size=\(ResumableMachine.mostHeld)")
    #expect(try message(taken).fields["Upload-Complete"] == "?0")
  }

  @Test func `A stream that may be too short to resume is sent with plain PUT`() throws {
    let (_, commands) = try resumable("min-size=\(Self.window + 1)")
    #expect(try message(commands).sendsStream)
  }

  // MARK: S3

  private func s3() throws -> S3Machine {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("https://h.example"))
    let request = UploadRequest(
      to: object, credentials: S3Credentials(accessKeyID: "i", secretAccessKey: "s"))
    return S3Machine(UploadStart(request, source, Self.first, isAttended: false, now: Instant()))
  }

  /// A machine whose first part is on the store.
  private func s3WithPart(tag: String = "\"e1\"") throws -> S3Machine {
    var machine = try s3()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, body: S3MachineTests.created))
    #expect(
      machine.handle(.stored(nil)) == [.digest(0..<Self.window, part: 1, [.md5])])
    #expect(try message(machine.handle(S3MachineTests.digest(1))).range == 0..<Self.window)
    let done = machine.handle(try answer(200, [("ETag", tag)], sent: Self.window, part: 1))
    #expect(done == [.reportAcknowledged(Self.window), .read(UploadExtent.window)])
    return machine
  }

  @Test func `S3 reads and sends one part after the other`() throws {
    var machine = try s3WithPart()
    let range = Self.window..<(Self.window + 5)
    #expect(machine.handle(.read(Self.last)) == [.digest(range, part: 2, [.md5])])
    // A part that is lost is sent again from what is held.
    _ = machine.handle(S3MachineTests.digest(2))
    _ = machine.handle(.failed(Self.lost, sent: 1, part: 2))
    #expect(machine.handle(.start(nil)) == [.digest(range, part: 2, [.md5])])
    _ = machine.handle(S3MachineTests.digest(2))
    let done = machine.handle(try answer(200, [("ETag", "\"e2\"")], sent: 5, part: 2))
    #expect(done == [.reportAcknowledged(Self.window + 5), .checkSource])
    let complete = try message(machine.handle(.sourceChecked(nil)))
    let body = String(decoding: complete.body ?? [], as: UTF8.self)
    #expect(body.contains("<PartNumber>2</PartNumber>"))
  }

  @Test func `S3 does not begin anew once the first part is gone`() throws {
    var machine = try s3WithPart()
    _ = machine.handle(.read(Self.last))
    _ = machine.handle(S3MachineTests.digest(2))
    let gone = machine.handle(
      try answer(404, body: S3MachineTests.refusal("NoSuchUpload"), sent: 5, part: 2))
    #expect(gone.first == .deleteRecord)
    #expect(failure(of: gone)?.message.contains("is gone") == true)
  }

  @Test func `A wrong part of a stream is gone, so the upload is deleted`() throws {
    var machine = try s3WithPart(tag: S3MachineTests.hex(9))
    _ = machine.handle(.read(Self.last))
    _ = machine.handle(S3MachineTests.digest(2))
    let deleted = machine.handle(
      try answer(200, [("ETag", S3MachineTests.hex(2))], sent: 5, part: 2))
    #expect(try message(deleted).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .checksumMismatch)
  }

  @Test func `The parts of a stream grow, and there are at most 10,000`() throws {
    var machine = try s3WithPart()
    var sizes: [Int] = [UploadExtent.window]
    var (end, next) = (Self.window, UploadExtent.window)
    let digest = [try #require(Checksum("md5=\(S3MachineTests.hex(1))"))]
    for number in 2...10_000 {
      sizes.append(next)
      let extent = UploadExtent(start: end, end: end + Int64(next), isWhole: false)
      #expect(machine.handle(.read(extent)) == [.digest(end..<extent.end, part: number, [.md5])])
      end = extent.end
      _ = machine.handle(.digested(part: number, .success(digest)))
      let done = machine.handle(
        try answer(200, [("ETag", "\"e\"")], sent: Int64(next), part: number))
      if case .read(let count)? = done.last { next = count } else { next = 0 }
      if number == 10_000 { #expect(try message(done).method == "DELETE") }
    }
    #expect(Set(sizes) == [8 << 20, 16 << 20, 32 << 20])
    #expect(sizes == sizes.sorted())
    #expect(end == 280_000 << 20)
    #expect(failure(of: machine.handle(try answer(204)))?.code == .tooLarge)
  }

  @Test func `A source that is gone can be read again by another run, if a server has it`() throws {
    let target = try ResourceURL("https://h.example/f")
    let download = DownloadRequest(url: try ResourceURL("https://s.example/f"), to: .stream)
    let lost = TransferError(.connectionLost, "it broke off", isRetryable: true)
    for (request, isRemote) in [
      (UploadRequest(from: download, to: target), true), (UploadRequest(to: target), false),
    ] {
      var attempts = UploadAttempts(request, isAttended: false, now: Instant())
      attempts.isSpent = true
      guard case .failure(let error) = attempts.failed(lost) else {
        throw TransferError(.internal, "it is tried again")
      }
      #expect(error.isRetryable == isRemote)
    }
  }
}
