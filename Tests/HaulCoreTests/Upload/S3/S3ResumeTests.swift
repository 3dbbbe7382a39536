import HaulCore
import Testing

/// How an upload to an S3 store continues after a pause, a crash or a lost answer.
@Suite struct S3ResumeTests {
  private typealias Script = S3MachineTests
  private static let size: Int64 = 33 << 20
  private static let part: Int64 = 16 << 20

  /// A machine that has asked for the parts of the stored upload.
  private func listing() throws -> S3Machine {
    var machine = try Script.machine(Self.size)
    let list = try message(machine.handle(.start(Script.record(Script.source(Self.size)))))
    #expect(list.method == "GET")
    #expect(list.url.absoluteString == Script.address + "?max-parts=1000&uploadId=u1")
    return machine
  }

  @Test func `Parts that the store has, and that equal the file, are not sent again`() throws {
    var machine = try listing()
    let listed = Script.list([
      (1, Self.part, Script.hex(1)), (2, Self.part, Script.hex(9)), (3, 5, Script.hex(3)),
      (4, 1 << 20, Script.hex(4)),
    ])
    // The third has another size, and there is no fourth: only two are compared.
    #expect(
      machine.handle(try answer(200, body: listed)) == [.digest(0..<Self.part, part: 1, [.md5])])
    #expect(
      machine.handle(Script.digest(1)) == [
        .digest(Self.part..<(2 * Self.part), part: 2, [.md5])
      ])
    // The second has other bytes: it is sent again.
    #expect(
      machine.handle(Script.digest(2)) == [
        .reportAcknowledged(Self.part), .digest(Self.part..<(2 * Self.part), part: 2, [.md5]),
      ])
  }

  @Test func `A list of several pages is read to its end`() throws {
    var machine = try listing()
    let first = Script.list([(1, Self.part, Script.hex(1))], next: 1)
    let next = try message(machine.handle(try answer(200, body: first)))
    #expect(next.url.absoluteString.contains("part-number-marker=1&"))
    // A server that repeats itself is not followed forever: what it listed counts, once.
    #expect(
      machine.handle(try answer(200, body: first)) == [.digest(0..<Self.part, part: 1, [.md5])])
    #expect(
      machine.handle(Script.digest(1)) == [
        .reportAcknowledged(Self.part), .digest(Self.part..<(2 * Self.part), part: 2, [.md5]),
      ])
  }

  @Test(arguments: [
    S3MachineTests.list([], next: 0),
    S3MachineTests.list([(3, 1 << 20, S3MachineTests.hex(3))], next: 1),
    "<ListPartsResult><IsTruncated>true</IsTruncated></ListPartsResult>",
  ])
  func `A list that cannot go on is at its end, and the other parts are sent`(page: String) throws {
    var machine = try listing()
    var commands = machine.handle(try answer(200, body: page))
    if page.contains("<Part>") {
      #expect(commands == [.digest((2 * Self.part)..<Self.size, part: 3, [.md5])])
      commands = machine.handle(Script.digest(3))
    }
    #expect(commands.last == .digest(0..<Self.part, part: 1, [.md5]))
  }

  @Test(arguments: [
    "", "<ListPartsResult>", "<html></html>", "<ListPartsResult><Part/></ListPartsResult>",
  ])
  func `A list that cannot be read is asked for again, from its beginning`(body: String) throws {
    var machine = try listing()
    let first = Script.list([(1, Self.part, Script.hex(1))], next: 1)
    _ = machine.handle(try answer(200, body: first))
    #expect(retried(machine.handle(try answer(200, body: body)))?.code == .protocolViolation)
    let again = try message(machine.handle(.start(nil)))
    #expect(again.method == "GET" && !again.url.absoluteString.contains("part-number-marker"))
  }

  @Test func `The upload of another version of the file is deleted before a new one begins`() throws
  {
    var machine = try Script.machine(Self.size)
    let old = Script.record(Script.source(Self.size, modified: 2))
    let abort = try message(machine.handle(.start(old)))
    #expect((abort.method, abort.url.absoluteString) == ("DELETE", old.address))
    let commands = machine.handle(try answer(204))
    #expect(commands.first == .deleteRecord)
    #expect(try message(commands).url.absoluteString == Script.address + "?uploads")
  }

  @Test(arguments: [(403, "AccessDenied"), (405, "MethodNotAllowed"), (501, "NotImplemented")])
  func `Parts that may not be listed are deleted, and a new upload begins`(
    status: Int, code: String
  ) throws {
    var machine = try listing()
    let refusal = try answer(status, body: Script.refusal(code))
    let abort = try message(machine.handle(refusal))
    #expect((abort.method, abort.url.absoluteString) == ("DELETE", Script.address + "?uploadId=u1"))
    var other = machine
    let commands = machine.handle(try answer(204))
    #expect(commands.first == .deleteRecord)
    #expect(try message(commands).url.absoluteString == Script.address + "?uploads")
    // What may not be deleted stays there. Its record is replaced once there is a new upload.
    let create = other.handle(refusal)
    #expect(create.count == 1)
    #expect(try message(create).url.absoluteString == Script.address + "?uploads")
    guard case .storeRecord? = other.handle(try answer(200, body: Script.created)).first else {
      Issue.record("no record of the new upload")
      return
    }
  }

  @Test(arguments: ["InvalidAccessKeyId", "SignatureDoesNotMatch"])
  func `A wrong key deletes nothing, and the upload stays on record`(code: String) throws {
    var machine = try listing()
    let commands = machine.handle(try answer(403, body: Script.refusal(code)))
    #expect(commands.count == 1)
    #expect(failure(of: commands)?.code == .unauthorized)
  }

  @Test(arguments: [Int64(1), 4 << 20, 6 << 30])
  func `A stored size of parts that cannot be is not used`(partSize: Int64) throws {
    var machine = try Script.machine(Self.size)
    let record = Script.record(Script.source(Self.size), partSize: partSize)
    #expect(try message(machine.handle(.start(record))).method == "DELETE")
  }

  @Test func `A lost part is sent again, the others are not`() throws {
    var machine = try Script.sending(connections: 2)
    _ = machine.handle(Script.digest(1))
    _ = machine.handle(Script.digest(2))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    // The other part goes on, and no third one begins.
    #expect(machine.handle(.failed(lost, sent: 5, part: 1)).isEmpty)
    let commands = machine.handle(try answer(200, [("ETag", "t")], sent: Self.part, part: 2))
    #expect(commands.first == .reportAcknowledged(Self.part))
    guard case .retry? = commands.last else {
      Issue.record("no retry")
      return
    }
    #expect(
      machine.handle(.start(nil, connections: 1)) == [.digest(0..<Self.part, part: 1, [.md5])])
  }

  @Test func `A lost answer to the completion is asked for again, and the object recognised`()
    throws
  {
    var machine = try Script.completing()
    let mark = try mark(of: machine)
    _ = machine.handle(
      .failed(TransferError(.connectionLost, "lost", isRetryable: true), sent: 0))
    #expect(machine.handle(.start(nil)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "POST")
    let head = try message(
      machine.handle(try answer(404, body: Script.refusal("NoSuchUpload"))))
    #expect((head.method, head.url.absoluteString) == ("HEAD", Script.address))
    let found = try answer(
      200, [("Content-Length", "\(Self.size)"), ("x-amz-meta-haul-upload", mark)])
    #expect(
      machine.handle(found) == [
        .deleteRecord, .reportAcknowledged(Self.size), .finish(.completed),
      ])
  }

  /// The mark is random, but the generator of the tests is not.
  private func mark(of machine: S3Machine) throws -> String {
    var other = try Script.machine(Self.size)
    return try #require(
      try message(other.handle(.start(nil))).fields["x-amz-meta-haul-upload"])
  }

  @Test(arguments: [
    [], [("Content-Length", "\(33 << 20)")],
    [("Content-Length", "1"), ("x-amz-meta-haul-upload", "m")],
  ])
  func `An upload that is gone, with another object in its place, begins anew, once`(
    fields: [(String, String)]
  ) throws {
    var machine = try listing()
    let gone = try answer(404, body: Script.refusal("NoSuchUpload"))
    #expect(try message(machine.handle(gone)).method == "HEAD")
    let commands = machine.handle(try answer(fields.isEmpty ? 404 : 200, fields))
    #expect(commands.prefix(2) == [.deleteRecord, .reportAcknowledged(0)])
    #expect(try message(commands).url.absoluteString.hasSuffix("?uploads"))
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    _ = machine.handle(Script.digest(1))
    let end = machine.handle(
      try answer(404, body: Script.refusal("NoSuchUpload"), part: 1))
    #expect(end.first == .deleteRecord)
    #expect(failure(of: end)?.code == .notFound)
  }

  @Test func `A completed upload whose record stayed is recognised after a crash`() throws {
    var machine = try listing()
    _ = machine.handle(try answer(404, body: Script.refusal("NoSuchUpload")))
    let found = try answer(
      200, [("Content-Length", "\(Self.size)"), ("x-amz-meta-haul-upload", "m")])
    #expect(machine.handle(found).last == .finish(.completed))
  }

  @Test func `A source that changed is never completed, and its parts are deleted`() throws {
    var machine = try Script.sending()
    for part in 1...3 { _ = try Script.take(part, &machine) }
    let changed = TransferError(.sourceChanged, "changed")
    #expect(try message(machine.handle(.sourceChecked(changed))).method == "DELETE")
    #expect(machine.handle(try answer(204)) == [.deleteRecord, .finish(.failed(changed))])
  }

  @Test func `Parts that cannot be deleted stay on record, for the next run`() throws {
    var machine = try Script.sending()
    let changed = TransferError(.sourceChanged, "shorter")
    #expect(
      try message(machine.handle(.digested(part: 1, .failure(changed)))).method == "DELETE")
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(machine.handle(.failed(lost, sent: 0)) == [.finish(.failed(changed))])
  }
}
