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

  @Test func `An older file of the same length proves no MOVE whose answer was lost`() throws {
    var machine = try stored()
    _ = machine.handle(.sourceChecked(nil))
    _ = machine.handle(try file(length: 100, tag: "old"))
    #expect(isRetry(machine.handle(.failed(lost, sent: 0))))
    _ = machine.handle(.start(nil))
    #expect(try message(machine.handle(try answer(404))).method == "HEAD")
    #expect(try message(machine.handle(try answer(200, Self.whole))).method == "PROPFIND")
    #expect(isRetry(machine.handle(try file(length: 100, tag: "old"))))
    #expect(try message(machine.handle(.start(nil))).method == "PUT")
  }

  @Test(arguments: ["same", nil])
  func `Where no tag tells the files apart, the temporary name that is gone does`(tag: String?)
    throws
  {
    for isLeft in [false, true] {
      var machine = try sending()
      _ = machine.handle(try answer(201))
      let tags = tag.map { [("ETag", "\"\($0)\"")] } ?? []
      #expect(machine.handle(try answer(200, Self.whole + tags)) == [.checkSource])
      _ = machine.handle(.sourceChecked(nil))
      _ = machine.handle(try file(length: 100, tag: tag))
      _ = machine.handle(try answer(204))
      _ = machine.handle(try answer(200, Self.whole))
      let look = try message(machine.handle(try file(length: 100, tag: tag)))
      #expect((look.method, look.url.path.hasSuffix(".tmp")) == ("HEAD", true))
      let commands = machine.handle(try answer(isLeft ? 200 : 404, isLeft ? Self.whole : []))
      if isLeft {
        try expectDirect(&machine, commands)
      } else {
        #expect(commands == [.deleteRecord, .finish(.completed)])
      }
    }
  }

  @Test func `A directory that has the name after the MOVE is no file, and nothing is sent to it`()
    throws
  {
    let directory = try properties("<d:resourcetype><d:collection/></d:resourcetype>")
    for head in [try answer(200), try answer(404)] {
      var machine = try moving()
      _ = machine.handle(try answer(201))
      #expect(try message(machine.handle(head)).method == "PROPFIND")
      #expect(try message(machine.handle(directory)).method == "DELETE")
      #expect(failure(of: machine.handle(try answer(404)))?.code == .nameConflict)
    }
  }

  @Test func `A property that the server does not know says nothing`() throws {
    var machine = try stored()
    _ = machine.handle(.sourceChecked(nil))
    let unknown = try answer(
      207,
      body: """
        <d:multistatus xmlns:d="DAV:"><d:response><d:propstat>
        <d:prop><d:resourcetype/></d:prop><d:status>HTTP/1.1 404 Not Found</d:status>
        </d:propstat></d:response></d:multistatus>
        """)
    #expect(try message(machine.handle(unknown)).fields["Overwrite"] == "F")
  }

  @Test func `A refusal to replace a file leads to another form of the target, then to a PUT`()
    throws
  {
    var machine = try stored()
    _ = machine.handle(.sourceChecked(nil))
    _ = machine.handle(try file(length: 7, tag: "a"))
    let move = try message(machine.handle(try answer(412)))
    #expect((move.method, move.fields["Destination"]) == ("MOVE", Self.address))
    try expectDirect(&machine, machine.handle(try answer(412)))
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
    _ = machine.handle(.streamSent(length: nil))
    _ = machine.handle(try answer(201))
    _ = machine.handle(try answer(404))
    #expect(try message(machine.handle(try answer(404))).method == "DELETE")
    let error = failure(of: machine.handle(try answer(404)))
    #expect(error?.message.contains("does not have it") == true)
  }

  private func file(length: Int, tag: String?) throws -> UploadEvent {
    try properties(
      """
      <d:getcontentlength>\(length)</d:getcontentlength><d:resourcetype/>
      \(tag.map { "<d:getetag>\"\($0)\"</d:getetag>" } ?? "")
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
