import HaulCore
import Testing

/// Stores that refuse conditions, or answer them in other ways than Amazon does.
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
  func `409 without a reason is looked at, and is told as it is if the condition holds`(
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

  @Test func `304 says that the condition does not hold`() throws {
    var machine = try Self.completing(over: try answer(404)).machine
    #expect(try message(machine.handle(try answer(304))).method == "HEAD")
    #expect(try message(machine.handle(try Self.object("\"t1\""))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .nameConflict)
  }
}
