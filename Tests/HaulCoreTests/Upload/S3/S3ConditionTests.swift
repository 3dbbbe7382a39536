import HaulCore
import Testing

/// Uploads to an S3 store that require what the store has: nothing, or one version.
@Suite struct S3ConditionTests {
  private typealias Script = S3MachineTests

  @Test func `An object that is there is not replaced when it must not be`() throws {
    var machine = try Script.machine(1) { $0.precondition = .absent }
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    #expect(
      failure(of: machine.handle(try answer(200, [("Content-Length", "1")])))?.code
        == .nameConflict)
  }

  @Test
  func
    `A small object that must not be there is sent with the condition, and a conflict is checked`()
    throws
  {
    var machine = try Script.machine(1) { $0.precondition = .absent }
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    let put = try message(machine.handle(Script.digest(1)))
    #expect(put.fields["If-None-Match"] == "*")
    let mark = try #require(put.fields["x-amz-meta-haul-upload"])
    #expect(try message(machine.handle(try answer(412, part: 1))).method == "HEAD")
    let own = try answer(200, [("Content-Length", "1"), ("x-amz-meta-haul-upload", mark)])
    #expect(machine.handle(own).last == .finish(.completed))
  }

  /// A small file that is sent in place of the object with a tag, and its mark.
  private static func replacing() throws -> (S3Machine, mark: String) {
    var machine = try Script.machine(1) { $0.precondition = .entityTag("\"a\"") }
    _ = machine.handle(.start(nil))
    let put = try message(machine.handle(Script.digest(1)))
    return (machine, try #require(put.fields["x-amz-meta-haul-upload"]))
  }

  @Test func `After a lost answer, a condition that no longer holds may be met by our object`()
    throws
  {
    var (machine, mark) = try Self.replacing()
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(retried(machine.handle(.failed(lost, sent: 1, part: 1))) != nil)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Script.digest(1))
    #expect(try message(machine.handle(try answer(412, part: 1))).method == "HEAD")
    let own = try answer(200, [("Content-Length", "1"), ("x-amz-meta-haul-upload", mark)])
    #expect(machine.handle(own).last == .finish(.completed))
  }

  @Test func `Without a lost answer, a condition that does not hold is an error at once`() throws {
    var (machine, _) = try Self.replacing()
    let error = failure(of: machine.handle(try answer(412, part: 1)))
    #expect(error?.code == .changedOnServer)
  }

  @Test func `A conflict with another request deletes the upload, and begins anew, once`() throws {
    var machine = try Script.completing()
    let conflict = try answer(409, body: Script.refusal("ConditionalRequestConflict"))
    let commands = machine.handle(conflict)
    #expect(commands.first == .reportAcknowledged(0))
    #expect(try message(commands).method == "DELETE")
    let anew = machine.handle(try answer(204))
    #expect(anew.first == .deleteRecord)
    #expect(try message(anew).method == "POST")
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    for part in 1...3 { _ = try Script.take(part, &machine) }
    _ = machine.handle(.sourceChecked(nil))
    #expect(try message(machine.handle(conflict)).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .httpStatus)
  }

  @Test func `A small object is sent again after a conflict with another request`() throws {
    var (machine, _) = try Self.replacing()
    let conflict = try answer(409, body: Script.refusal("ConditionalRequestConflict"), part: 1)
    #expect(retried(machine.handle(conflict)) != nil)
  }

  @Test func `A completion that finds another object deletes the parts and fails`() throws {
    var machine = try Script.completing { $0.precondition = .entityTag("\"a\"") }
    #expect(try message(machine.handle(try answer(412))).method == "HEAD")
    #expect(
      try message(machine.handle(try answer(200, [("Content-Length", "5")]))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .changedOnServer)
  }
}
