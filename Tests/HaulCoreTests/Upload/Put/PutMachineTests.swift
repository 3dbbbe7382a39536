import HaulCore
import Testing

/// What the machine of a plain upload does, event by event.
@Suite struct PutMachineTests {
  private static let address = "http://h.example/f"

  private func machine(
    length: Int64 = 100, hasRun: Bool = false, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> PutMachine {
    var request = UploadRequest("/f", to: try ResourceURL(Self.address))
    change(&request)
    return PutMachine(
      request, length: length, hasRun: hasRun, isAttended: false, now: Instant())
  }

  /// The request that sends the whole file.
  private static func put(
    _ address: String, _ fields: [(String, String)] = []
  ) throws -> UploadCommand {
    .send(
      UploadMessage(
        "PUT", try ResourceURL(address), fields: HeaderFields(fields), range: 0..<100))
  }

  @Test func `A file is sent, the source is checked, and then it is complete`() throws {
    var machine = try machine()
    #expect(machine.handle(.start(nil)) == [try Self.put(Self.address)])
    #expect(machine.handle(try answer(201)) == [.checkSource])
    let measure = try message(machine.handle(.sourceChecked(nil)))
    #expect((measure.method, measure.isOptional) == ("HEAD", true))
    #expect(machine.handle(try answer(200, [("Content-Length", "100")])) == [.finish(.completed)])
    #expect(machine.handle(try answer(201)) == [])
  }

  @Test func `The answer to an empty file is waited for as long as that to any other`() throws {
    let request = UploadRequest("/f", to: try ResourceURL(Self.address))
    for length: Int64 in [0, 100] {
      var machine = PutMachine(
        request, length: length, hasRun: false, isAttended: false, now: Instant())
      #expect(try message(machine.handle(.start(nil))).takesLong)
      _ = machine.handle(try answer(201))
      #expect(try !message(machine.handle(.sourceChecked(nil))).takesLong)
    }
  }

  /// A machine that asks what the server has.
  private func measuring(
    status: Int = 201, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> PutMachine {
    var machine = try machine(change)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(status))
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    return machine
  }

  @Test(arguments: ["99", "101"])
  func `A server that has another number of bytes gets the file again`(length: String) throws {
    var machine = try measuring { $0.retry.retries = 1 }
    let other = try answer(200, [("Content-Length", length)])
    #expect(retried(machine.handle(other))?.code == .lengthMismatch)
    #expect(machine.handle(.start(nil)) == [try Self.put(Self.address)])
    _ = machine.handle(try answer(201))
    _ = machine.handle(.sourceChecked(nil))
    #expect(failure(of: machine.handle(other))?.code == .lengthMismatch)
  }

  /// Lets the server take the file once more.
  private func takeAgain(_ machine: inout PutMachine, _ length: String) throws -> [UploadCommand] {
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(201))
    _ = machine.handle(.sourceChecked(nil))
    return machine.handle(try answer(200, [("Content-Length", length)]))
  }

  @Test func `A server that makes the same of two attempts gets no third one`() throws {
    var machine = try measuring()
    #expect(retried(machine.handle(try answer(200, [("Content-Length", "99")]))) != nil)
    #expect(retried(try takeAgain(&machine, "98")) != nil)
    let error = failure(of: try takeAgain(&machine, "98"))
    #expect(error?.code == .lengthMismatch)
    #expect(error?.fact == "the server took the file, but has 98 of its 100 bytes after 3 attempts")
    #expect(error?.advice?.contains("compare") == true)
  }

  @Test(arguments: [409, 412])
  func `A conflict with what the server has taken before is not one of a directory or of others`(
    status: Int
  ) throws {
    let other = try answer(200, [("Content-Length", "101")])
    for isTaken in [true, false] {
      var machine = try machine { $0.precondition = .entityTag("\"a\"") }
      _ = machine.handle(.start(nil))
      if isTaken {
        _ = machine.handle(try answer(201))
        _ = machine.handle(.sourceChecked(nil))
        #expect(retried(machine.handle(other)) != nil)
      } else {
        let lost = TransferError(.connectionLost, "lost", isRetryable: true)
        #expect(retried(machine.handle(.failed(lost, sent: 100))) != nil)
      }
      _ = machine.handle(.start(nil))
      let error = failure(of: machine.handle(try answer(status)))
      #expect(error?.status == status)
      #expect(error?.advice == "an earlier attempt of this upload may have stored it: compare it")
    }
    var first = try machine(hasRun: true)
    _ = first.handle(.start(nil))
    let error = failure(of: first.handle(try answer(409)))
    #expect(error?.advice?.contains("missing there: make it first, or upload by WebDAV") == true)
  }

  @Test(arguments: [
    (404, "check the address; a directory above it may be missing"),
    (405, "check the address, or upload in another way"), (423, "wait until the lock ends"),
    (501, "check the address, or upload in another way"), (507, "free space there"),
  ])
  func `A refusal says what to do`(status: Int, advice: String) throws {
    var machine = try machine { $0.retry.retries = 0 }
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(status)))
    #expect(error?.advice?.contains(advice) == true)
  }

  @Test(arguments: [
    ("application/json", "/f.json"), ("text/xml; charset=utf-8", "/d/f.xml"),
    ("application/octet-stream", "/f"), ("text/plain", "/f"),
  ])
  func `A type that a file of this name may have is evidence`(
    type: String, path: String
  ) throws {
    let address = try ResourceURL("http://h.example\(path)")
    var machine = try measuring { $0.url = address }
    let fields = [("Content-Length", "101"), ("Content-Type", type)]
    #expect(retried(machine.handle(try answer(200, fields)))?.code == .lengthMismatch)
  }

  @Test(arguments: [("X-Cache", "MISS from whitehouse.example"), ("Age", "0"), ("Age", "soon")])
  func `An answer that is of no cache is evidence`(field: (String, String)) throws {
    var machine = try measuring()
    let fields = [("Content-Length", "99"), field]
    #expect(retried(machine.handle(try answer(200, fields)))?.code == .lengthMismatch)
  }

  @Test func `The number of attempts follows the fact, and not the advice`() throws {
    var machine = try machine { $0.retry.retries = 1 }
    _ = machine.handle(.start(nil))
    #expect(retried(machine.handle(try answer(503)))?.message == Self.unavailable)
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(503)))
    #expect(error?.message == "the server answered 503 after 2 attempts; try again later")
  }

  @Test(arguments: [500, 503, 507, 599])
  func `A server that fails at the question whether there is a file is asked again`(
    status: Int
  ) throws {
    var machine = try machine { ($0.precondition, $0.retry.retries) = (.absent, 1) }
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    #expect(retried(machine.handle(try answer(status)))?.status == status)
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    #expect(failure(of: machine.handle(try answer(status)))?.status == status)
  }

  private static let unavailable = "the server answered 503; try again later"

  @Test(arguments: [
    (404, []), (405, []), (401, []), (500, []), (302, [("Location", "/")]), (200, []),
    (200, [("Content-Length", "0")]), (204, [("Content-Length", "7")]),
    (200, [("Content-Length", "7"), ("Content-Type", "text/html")]),
    (200, [("Content-Length", "7"), ("Content-Encoding", "gzip")]),
    (200, [("Content-Length", "7"), ("Content-Type", "application/json; charset=UTF-8")]),
    (200, [("Content-Length", "7"), ("Content-Type", "application/vnd.api+json")]),
    (200, [("Content-Length", "7"), ("Content-Type", "text/xml")]),
    (200, [("Content-Length", "7"), ("Age", "30")]),
    (200, [("Content-Length", "7"), ("X-Cache", "MISS, TCP_HIT from proxy")]),
    (200, [("Content-Length", "7"), ("CF-Cache-Status", "HIT")]),
  ])
  func `An answer that does not have the length of the file proves nothing`(
    status: Int, fields: [(String, String)]
  ) throws {
    var machine = try measuring()
    #expect(machine.handle(try answer(status, fields)) == [.finish(.completed)])
  }

  @Test func `A server that does not answer the question has the file all the same`() throws {
    var machine = try measuring()
    let stalled = TransferError(.stalled, "silent", isRetryable: true)
    #expect(machine.handle(.failed(stalled, sent: 0)) == [.finish(.completed)])
  }

  @Test func `What 202 promises, and what is posted, is not asked for`() throws {
    var later = try machine()
    _ = later.handle(.start(nil))
    _ = later.handle(try answer(202))
    #expect(later.handle(.sourceChecked(nil)) == [.finish(.completed)])
    var posted = try machine { $0.method = .post }
    _ = posted.handle(.start(nil))
    _ = posted.handle(try answer(200))
    #expect(posted.handle(.sourceChecked(nil)) == [.finish(.completed)])
  }

  @Test func `303 says that what was posted was taken; 302 leaves it open`() throws {
    let thanks = [("Location", "/thanks")]
    var taken = try machine { $0.method = .post }
    _ = taken.handle(.start(nil))
    let reply = UploadReply(location: "http://h.example/thanks")
    #expect(taken.handle(try answer(303, thanks)) == [.reportReply(reply), .checkSource])
    var early = try machine { $0.method = .post }
    _ = early.handle(.start(nil))
    #expect(
      failure(of: early.handle(try answer(303, thanks, sent: 10)))?.code == .protocolViolation)
    var open = try machine { $0.method = .post }
    _ = open.handle(.start(nil))
    let error = failure(of: open.handle(try answer(302, thanks)))
    #expect(error?.message.contains("may have taken the file: look there, at") == true)
    var put = try machine()
    _ = put.handle(.start(nil))
    #expect(failure(of: put.handle(try answer(303, thanks)))?.code == .redirectRefused)
  }

  @Test func `A source that changed is an error, although the server took the file`()
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(204))
    let changed = TransferError(.sourceChanged, "it changed")
    #expect(machine.handle(.sourceChecked(changed)) == [.finish(.failed(changed))])
  }

  @Test(arguments: [200, 201, 202, 203, 204, 205, 218, 226])
  func `Every status of success says that the file was taken`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    #expect(machine.handle(try answer(status)) == [.checkSource])
  }

  @Test(arguments: [206, 207])
  func `A success with parts, or with several, leaves it open`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(status)))
    #expect(error?.message.contains("does not say whether it has the file: look there") == true)
  }

  @Test func `A success before the whole file was sent is an error`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(200, sent: 99)))
    #expect(error?.code == .protocolViolation)
  }

  @Test(arguments: [
    (401, TransferError.Code.unauthorized), (403, .forbidden), (404, .notFound), (405, .httpStatus),
    (409, .httpStatus), (412, .nameConflict), (413, .tooLarge), (415, .httpStatus),
    (507, .httpStatus), (206, .httpStatus), (418, .httpStatus),
  ])
  func `A refusal ends it with the code of its status`(
    status: Int, code: TransferError.Code
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(status, sent: 10)))
    #expect(error?.code == code)
    #expect(error?.status == status)
  }

  @Test(arguments: [408, 423, 425, 429, 500, 502, 503, 504, 520, 522, 524, 527])
  func `A server that may recover is asked again, after the time that it asked for`(
    status: Int
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let commands = machine.handle(try answer(status, [("Retry-After", "7")]))
    guard case .retry(let delay, let attempt, let error)? = commands.first else {
      Issue.record("\(commands)")
      return
    }
    #expect((delay, attempt, error.status) == (.seconds(7), 1, status))
    #expect(machine.handle(.start(nil)) == [try Self.put(Self.address)])
  }

  @Test(arguments: [429, 500, 503])
  func `A POST that was refused is not sent again, because it may have been taken`(
    status: Int
  ) throws {
    var machine = try machine { $0.method = .post }
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(status, [("Retry-After", "1")])))
    #expect(error?.status == status)
    #expect(error?.isRetryable == false)
  }

  @Test func `A PUT whose answer was lost is sent again`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    let commands = machine.handle(.failed(lost, sent: 100))
    guard case .retry? = commands.first else {
      Issue.record("\(commands)")
      return
    }
  }

  @Test func `A POST whose answer was lost is not sent again`() throws {
    var machine = try machine { $0.method = .post }
    _ = machine.handle(.start(nil))
    let lost = TransferError(.connectionLost, "lost", advice: "try again", isRetryable: true)
    let error = failure(of: machine.handle(.failed(lost, sent: 0)))
    #expect(error?.isRetryable == false)
    #expect(error?.message.hasPrefix("lost; the server may have taken the file") == true)
    #expect(error?.fact == "lost")
  }

  @Test func `A POST with an idempotency key, or without a connection, is sent again`()
    throws
  {
    var keyed = try machine {
      $0.method = .post
      $0.headers = [("Idempotency-Key", "7")]
    }
    _ = keyed.handle(.start(nil))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(failure(of: keyed.handle(.failed(lost, sent: 100))) == nil)
    var plain = try machine { $0.method = .post }
    _ = plain.handle(.start(nil))
    let refused = TransferError(.connect, "refused", isRetryable: true)
    #expect(failure(of: plain.handle(.failed(refused, sent: 0))) == nil)
  }

  @Test func `A file that must not exist is asked for before anything is sent`() throws {
    var machine = try machine { $0.precondition = .absent }
    #expect(
      machine.handle(.start(nil)) == [
        .send(UploadMessage("HEAD", try ResourceURL(Self.address), fields: HeaderFields()))
      ])
    var there = machine
    #expect(failure(of: there.handle(try answer(200)))?.code == .nameConflict)
    #expect(
      machine.handle(try answer(404)) == [try Self.put(Self.address, [("If-None-Match", "*")])])
    #expect(failure(of: machine.handle(try answer(412)))?.code == .nameConflict)
  }

  @Test func `A conflict after an attempt without an answer says that it may be our own`()
    throws
  {
    var machine = try machine { $0.precondition = .absent }
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    _ = machine.handle(.failed(lost, sent: 100))
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(200)))
    #expect(error?.code == .nameConflict)
    #expect(error?.message.contains("an earlier attempt of this upload may have stored it") == true)
  }

  @Test func `A version that was replaced meanwhile has changed on the server`() throws {
    var machine = try machine { $0.precondition = .entityTag("\"a\"") }
    _ = machine.handle(.start(nil))
    #expect(failure(of: machine.handle(try answer(412)))?.code == .changedOnServer)
  }

  @Test(arguments: [307, 308])
  func `A redirect that keeps the method is followed within the origin`(status: Int)
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let commands = machine.handle(try answer(status, [("Location", "/g")]))
    #expect(commands == [try Self.put("http://h.example/g")])
  }

  @Test(arguments: [
    (301, "/g"), (302, "/g"), (303, "/g"), (307, "http://other.example/g"),
    (308, "https://h.example/g"),
  ])
  func `The file is not sent to where another redirect leads`(
    status: Int, location: String
  ) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(status, [("Location", location)])))
    #expect(error?.code == .redirectRefused)
  }

  @Test func `Redirects without end are an error`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    var commands: [UploadCommand] = []
    for _ in 0..<21 { commands = machine.handle(try answer(307, [("Location", "/f")])) }
    #expect(failure(of: commands)?.code == .tooManyRedirects)
  }
}
