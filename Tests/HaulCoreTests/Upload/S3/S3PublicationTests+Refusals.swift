import HaulCore
import Testing

/// Stores that refuse conditions, ignore them, or answer them in other ways than Amazon does.
extension S3PublicationTests {
  private typealias Script = S3MachineTests

  private static func refusal(_ status: Int, _ code: String, part: Int = 0) throws -> UploadEvent {
    try answer(status, body: code.isEmpty ? "" : Script.refusal(code), part: part)
  }

  static let refusalsOfConditions = [
    (501, "NotImplemented"), (501, ""), (400, "InvalidArgument"), (400, ""), (405, ""),
    (405, "MethodNotAllowed"), (409, "NotImplemented"), (422, "Unprocessable"), (422, ""),
  ]

  /// A machine that is about to send a small file.
  private static func sending(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> S3Machine {
    var machine = try machine(1, change)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    _ = machine.handle(Script.digest(1))
    return machine
  }

  /// Checks that the store is asked for the object before it gets one without a condition.
  private static func expectLook(_ commands: [UploadCommand]) throws {
    guard case .reportRefusal? = commands.first else { throw TransferError(.internal, "") }
    let look = try message(commands)
    #expect((look.method, look.isOptional) == ("HEAD", false))
  }

  @Test(arguments: refusalsOfConditions)
  func `A store that refuses conditions gets the object without them, after one more look`(
    status: Int, code: String
  ) throws {
    var (machine, _, _) = try Self.completing(over: try answer(404))
    try Self.expectLook(machine.handle(try Self.refusal(status, code)))
    var (replaced, unknown) = (machine, machine)
    let complete = try message(machine.handle(try answer(404)))
    #expect(complete.method == "POST" && Self.conditions(complete) == [])
    #expect(try message(replaced.handle(try Self.object("\"t1\""))).method == "DELETE")
    #expect(retried(unknown.handle(try answer(503))) != nil)
  }

  @Test(arguments: [(403, nil), (405, nil), (501, nil), (200, nil), (200, "W/\"1\"")])
  func `Where runs may overlap, nothing is sent if the store does not say what it has`(
    status: Int, tag: String?
  ) throws {
    let fields = [("Content-Length", "5")] + (tag.map { [("ETag", $0)] } ?? [])
    for length in [5, 3 * Self.part] {
      var machine = try Self.machine(length, requiresCondition: true)
      _ = machine.handle(.start(nil))
      let end = machine.handle(try answer(status, fields))
      #expect(failure(of: end)?.code == .refused, "\(end)")
      #expect(failure(of: end)?.message.contains("does not say which object it has") == true)
      // Otherwise it is sent.
      var other = try Self.machine(length)
      _ = other.handle(.start(nil))
      #expect(failure(of: other.handle(try answer(status, fields))) == nil)
    }
  }

  @Test(arguments: refusalsOfConditions)
  func `There a store that refuses conditions gets nothing without them`(
    status: Int, code: String
  ) throws {
    var machine = try Self.machine(1, requiresCondition: true)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    _ = machine.handle(Script.digest(1))
    var commands = machine.handle(try Self.refusal(status, code, part: 1))
    if commands.last == .digest(0..<1, part: 1, [.md5]) {
      _ = machine.handle(Script.digest(1))
      commands = machine.handle(try Self.refusal(status, code, part: 1))
    }
    #expect(failure(of: commands) != nil, "\(commands)")
  }

  @Test(arguments: refusalsOfConditions)
  func `A small object is sent without a condition only if the store has what it had`(
    status: Int, code: String
  ) throws {
    var small = try Self.sending()
    var commands = small.handle(try Self.refusal(status, code, part: 1))
    if commands.last == .digest(0..<1, part: 1, [.md5]) {
      // It may also be because of the checksums, which are left out first.
      #expect(
        Self.conditions(try message(small.handle(Script.digest(1)))) == ["If-None-Match: *"])
      commands = small.handle(try Self.refusal(status, code, part: 1))
    }
    try Self.expectLook(commands)
    var (adopting, other, unknown) = (small, small, small)
    guard case .digest? = small.handle(try answer(404)).last else {
      throw TransferError(.internal, "not sent")
    }
    #expect(Self.conditions(try message(small.handle(Script.digest(1)))) == [])
    let name = try Self.transfer(Self.link)
    #expect(
      adopting.handle(try Self.object("\"t1\"", transfer: name)).last == .finish(.completed))
    #expect(failure(of: other.handle(try Self.object("\"t1\"")))?.code == .nameConflict)
    // In another attempt, too.
    #expect(retried(unknown.handle(try answer(503))) != nil)
    #expect(try message(unknown.handle(.start(nil))).method == "HEAD")
  }

  @Test(arguments: refusalsOfConditions, [UploadRequest.Precondition.absent, .entityTag("\"t\"")])
  func `A condition of the user is never left out, and the refusal says what it may be about`(
    refusal: (Int, String), condition: UploadRequest.Precondition
  ) throws {
    var large: S3Machine
    if condition == .absent {
      let (machine, _, complete) = try Self.completing(over: try answer(404)) {
        $0.precondition = condition
      }
      #expect(Self.conditions(complete) == ["If-None-Match: *"])
      large = machine
    } else {
      large = try Script.completing { $0.precondition = condition }
    }
    var end = large.handle(try Self.refusal(refusal.0, refusal.1))
    if !refusal.1.isEmpty {
      // It would refuse them again, so no parts stay.
      #expect(try message(end).method == "DELETE")
      end = large.handle(try answer(204))
    }
    #expect(failure(of: end)?.status == refusal.0)
    #expect(failure(of: end)?.message.contains("because of If-Match or If-None-Match") == true)
  }

  @Test(arguments: ["FileAlreadyExists", ""])
  func `409 without a reason is looked at, and is reported as it is if the condition holds`(
    code: String
  ) throws {
    let name = try Self.transfer(Self.link)
    let published = try Self.object("\"t1\"", transfer: name)
    var large = try Self.completing(over: try answer(404)).machine
    #expect(try message(large.handle(try Self.refusal(409, code))).method == "HEAD")
    var (adopting, other) = (large, large)
    #expect(adopting.handle(published).first == .reportAdoption(length: 5))
    #expect(try message(other.handle(try Self.object("\"t1\""))).method == "DELETE")
    #expect(failure(of: other.handle(try answer(204)))?.code == .nameConflict)
    #expect(try message(large.handle(try answer(404))).method == "DELETE")
    let error = failure(of: large.handle(try answer(204)))
    #expect((error?.code, error?.status) == (.httpStatus, 409))
    var small = try Self.sending()
    #expect(try message(small.handle(try Self.refusal(409, code, part: 1))).method == "HEAD")
    #expect(small.handle(published).last == .finish(.completed))
  }

  /// A machine whose small file the store has taken after this time, and the names of its object.
  private static func stored(after time: Duration) throws -> (S3Machine, Names, [UploadCommand]) {
    var machine = try machine(1)
    _ = machine.handle(.start(nil), at: .zero)
    _ = machine.handle(try answer(404), at: .zero)
    let names = try Names(try message(machine.handle(Script.digest(1), at: .zero)))
    let tag = [("ETag", Script.hex(1))]
    _ = machine.handle(try answer(200, tag, sent: 1, part: 1), at: time)
    let commands = machine.handle(.sourceChecked(nil), at: time)
    return (machine, names, commands)
  }

  @Test func `A small object is not asked for again, unless it was sent late`() throws {
    #expect(try Self.stored(after: .seconds(5)).2 == [.finish(.completed)])
    #expect(try message(Self.stored(after: .seconds(6)).2).method == "HEAD")
  }

  @Test func `A small object that was sent late counts only if its version is present still`()
    throws
  {
    let changed = TransferError(.sourceChanged, "changed")
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    let (machine, names, _) = try Self.stored(after: .seconds(6))
    let own = try Self.object("\"t1\"", transfer: names.transfer, mark: names.mark, length: 1)
    for look in [own, try answer(403), .failed(lost, sent: 0)] {
      var machine = machine
      #expect(machine.handle(look, at: .seconds(6)) == [.checkVersion])
      var (older, unknown) = (machine, machine)
      #expect(machine.handle(.sourceChecked(nil)).last == .finish(.completed))
      #expect(unknown.handle(.sourceChecked(lost)).last == .finish(.completed))
      #expect(failure(of: older.handle(.sourceChecked(changed))) == changed)
    }
  }

  @Test func `An object that has replaced the one that was sent late is adopted or told`() throws {
    var (machine, names, _) = try Self.stored(after: .seconds(6))
    var (older, other, gone) = (machine, machine, machine)
    let published = try Self.object("\"t1\"", transfer: names.transfer, mark: "m")
    #expect(machine.handle(published).first == .reportAdoption(length: 5))
    let old = try Self.object(
      "\"t1\"", transfer: names.transfer, mark: "m", version: "\"v0\"")
    #expect(older.handle(old) == [.checkVersion])
    _ = older.handle(.sourceChecked(nil))
    #expect(Self.conditions(try message(older.handle(Script.digest(1)))) == ["If-Match: \"t1\""])
    let foreign = try Self.object("\"t1\"", transfer: "another", mark: "m")
    #expect(failure(of: other.handle(foreign))?.code == .nameConflict)
    #expect(failure(of: gone.handle(try answer(404)))?.code == .protocolViolation)
  }

  @Test(arguments: [500, 502, 503, 504, 505, 507, 508, 509, 520, 529, 599], [true, false])
  func `A store that fails at the first question is asked again, and gets no object unasked`(
    status: Int, mayReplace: Bool
  ) throws {
    var machine = try Self.machine(1) {
      $0.retry.retries = 2
      $0.precondition = mayReplace ? .none : .absent
    }
    for _ in 1...2 {
      #expect(try message(machine.handle(.start(nil))).method == "HEAD")
      #expect(retried(machine.handle(try answer(status)))?.status == status)
    }
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    #expect(failure(of: machine.handle(try answer(status)))?.fact.contains("3 attempts") == true)
  }

  @Test func `304 says that the condition does not hold`() throws {
    var machine = try Self.completing(over: try answer(404)).machine
    #expect(try message(machine.handle(try answer(304))).method == "HEAD")
    #expect(try message(machine.handle(try Self.object("\"t1\""))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .nameConflict)
  }
}
