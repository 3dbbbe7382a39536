import HaulCore
import Testing

/// What has the name of a file before the MOVE, and after it.
extension DAVMachineTests {
  @Test func `A directory that has the name is seen before the MOVE that might replace it`() throws
  {
    var machine = try stored()
    _ = machine.handle(.sourceChecked(nil))
    let directory = try properties("<d:resourcetype><d:collection/></d:resourcetype>")
    #expect(try message(machine.handle(directory)).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .nameConflict)
  }

  @Test func `A file that has the name is replaced by the first MOVE, or never`() throws {
    var machine = try stored()
    _ = machine.handle(.sourceChecked(nil))
    let move = try message(machine.handle(try file(length: 7, tag: "a")))
    #expect((move.method, move.fields["Overwrite"]) == ("MOVE", "T"))
    try expectProof(&machine, after: 204)
    var absent = try stored { $0.precondition = .absent }
    _ = absent.handle(.sourceChecked(nil))
    #expect(try message(absent.handle(try file(length: 7, tag: "a"))).method == "DELETE")
    #expect(failure(of: absent.handle(try answer(204)))?.code == .nameConflict)
  }

  @Test func `A server without PROPFIND gets a MOVE that replaces nothing`() throws {
    for isLost in [false, true] {
      var machine = try stored()
      let look = try message(machine.handle(.sourceChecked(nil)))
      #expect(look.isOptional)
      let move = try message(machine.handle(isLost ? .failed(lost, sent: 0) : try answer(405)))
      #expect((move.method, move.fields["Overwrite"]) == ("MOVE", "F"))
      try expectProof(&machine, after: 201)
    }
  }

  @Test func `A file that the server moved to another place is sent to its name`() throws {
    for answers in [
      [try answer(404), try answer(404)],
      [try answer(200, [("Content-Length", "7")]), try properties(7)],
      [try answer(200, [("Content-Length", "7")]), try answer(405)],
      [try answer(200), try answer(404)],
    ] {
      var machine = try moving { $0.retry.retries = 0 }
      _ = machine.handle(try answer(201))
      var commands: [UploadCommand] = []
      for answer in answers { commands = machine.handle(answer) }
      try expectDirect(&machine, commands)
    }
  }

  @Test func `A file of the same length that a MOVE did not replace is no success`() throws {
    var machine = try stored()
    _ = machine.handle(.sourceChecked(nil))
    _ = machine.handle(try file(length: 100, tag: "old"))
    _ = machine.handle(try answer(201))
    #expect(try message(machine.handle(try answer(200, Self.whole))).method == "PROPFIND")
    try expectDirect(&machine, machine.handle(try file(length: 100, tag: "old")))
    var replaced = try stored()
    _ = replaced.handle(.sourceChecked(nil))
    _ = replaced.handle(try file(length: 100, tag: "old"))
    _ = replaced.handle(try answer(204))
    _ = replaced.handle(try answer(200, Self.whole))
    #expect(
      replaced.handle(try file(length: 100, tag: "new")) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A server that says nothing about its files is believed when it has moved one`() throws
  {
    for finding in [UploadEvent.failed(lost, sent: 0), try answer(405), try answer(503)] {
      var machine = try moving()
      _ = machine.handle(try answer(201))
      #expect(try message(machine.handle(finding)).method == "PROPFIND")
      #expect(machine.handle(finding) == [.deleteRecord, .finish(.completed)])
    }
  }

  @Test func `A stream that the server moved to another place fails`() throws {
    var machine = try moving()
    machine.attempts.isSpent = true
    _ = machine.handle(try answer(201))
    _ = machine.handle(try answer(404))
    #expect(try message(machine.handle(try answer(404))).method == "DELETE")
    let error = failure(of: machine.handle(try answer(404)))
    #expect(error?.message.contains("not to its name") == true)
  }

  private func file(length: Int, tag: String) throws -> UploadEvent {
    try properties(
      """
      <d:getcontentlength>\(length)</d:getcontentlength><d:resourcetype/>
      <d:getetag>"\(tag)"</d:getetag>
      """)
  }

  /// Expects that the temporary name is deleted, and the file sent to its own.
  private func expectDirect(_ machine: inout DAVMachine, _ commands: [UploadCommand]) throws {
    #expect(try message(commands).method == "DELETE")
    #expect(retried(machine.handle(try answer(404)))?.message.contains("directly") == true)
    let put = try message(machine.handle(.start(nil)))
    #expect((put.method, put.url.absoluteString) == ("PUT", Self.address))
  }
}
