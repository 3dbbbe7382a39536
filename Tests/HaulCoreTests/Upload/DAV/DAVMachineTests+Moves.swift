import HaulCore
import Testing

/// Servers that answer MOVE late, unclearly, or not as RFC 4918 says (decision 026).
extension DAVMachineTests {
  @Test func `A MOVE that the server is still at work on is waited for`() throws {
    var machine = try moving { $0.retry.retries = 0 }
    #expect(isRetry(machine.handle(try answer(504))))
    for _ in 0..<5 {
      #expect(try message(machine.handle(.start(nil))).method == "HEAD")
      #expect(machine.handle(try answer(200, Self.whole)) == [.checkSource])
      #expect(try message(machine.handle(.sourceChecked(nil))).method == "MOVE")
      #expect(retried(machine.handle(try answer(423)))?.status == 423)
    }
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    #expect(machine.handle(try answer(200, Self.whole)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A MOVE that is never done is given up, and the file there is not deleted`() throws {
    var machine = try moving()
    _ = machine.handle(try answer(504), at: .seconds(10))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.whole))
    _ = machine.handle(.sourceChecked(nil))
    #expect(isRetry(machine.handle(try answer(423), at: .seconds(20))))
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(423), at: .seconds(1000)))
    #expect(error?.message.contains("may have stored the file all the same") == true)
  }

  @Test func `A server that wants a host in Destination gets one`() throws {
    var machine = try moving()
    let move = try message(machine.handle(try answer(400)))
    #expect((move.method, move.fields["Destination"]) == ("MOVE", Self.address))
    #expect(try message(machine.handle(try answer(400))).method == "DELETE")
  }

  @Test func `A server behind a proxy that ends TLS gets its own scheme in Destination`() throws {
    let address = "https://h.example/a/b/f.bin"
    var machine = try moving { $0.url = (try? ResourceURL(address)) ?? $0.url }
    #expect(
      try message(machine.handle(try answer(400))).fields["Destination"] == address)
    #expect(isRetry(machine.handle(try answer(502))))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    _ = machine.handle(try answer(200, Self.whole))
    let move = try message(machine.handle(.sourceChecked(nil)))
    #expect(move.fields["Destination"] == "http://h.example/a/b/f.bin")
    #expect(move.url.origin.scheme == "https")
  }

  @Test(arguments: [404, 409])
  func `A server that does not find a path in Destination gets the whole address`(status: Int)
    throws
  {
    var machine = try moving()
    let move = try message(machine.handle(try answer(status)))
    #expect((move.method, move.fields["Destination"]) == ("MOVE", Self.address))
    try expectProof(&machine, after: 201)
  }

  @Test func `A server that fails at a path in Destination gets the whole address next`() throws {
    var machine = try moving()
    #expect(isRetry(machine.handle(try answer(500))))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, Self.whole))
    let move = try message(machine.handle(.sourceChecked(nil)))
    #expect((move.method, move.fields["Destination"]) == ("MOVE", Self.address))
  }

  @Test(arguments: [409, 502])
  func `A server that knows no form of Destination gets the file under its own name`(status: Int)
    throws
  {
    var machine = try moving()
    #expect(try message(machine.handle(try answer(409))).fields["Destination"] == Self.address)
    var commands = machine.handle(try answer(status))
    if status == 502 {
      // The server may have done it all the same.
      #expect(try message(commands).method == "HEAD")
      commands = machine.handle(try answer(200, Self.whole))
    }
    #expect(try message(commands).method == "DELETE")
    #expect(retried(machine.handle(try answer(204)))?.message.contains("to MOVE; the file") == true)
  }

  @Test func `A server that refuses to replace what is not there gets the whole address`() throws {
    var machine = try moving()
    #expect(try message(machine.handle(try answer(412))).method == "PROPFIND")
    let move = try message(machine.handle(try answer(404)))
    #expect((move.method, move.fields["Destination"]) == ("MOVE", Self.address))
  }

  @Test func `The last attempt is followed by a look`() throws {
    var machine = try moving { $0.retry.retries = 0 }
    #expect(try message(machine.handle(try answer(503))).method == "HEAD")
    _ = machine.handle(try answer(404))
    #expect(machine.handle(try answer(200, Self.whole)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A file of that name is replaced once it is known to be no directory`() throws {
    for isMissing in [false, true] {
      var machine = try moving()
      let look = try message(machine.handle(try answer(412)))
      #expect((look.method, look.url.absoluteString) == ("PROPFIND", Self.address))
      var commands = machine.handle(isMissing ? try answer(405) : try type(""))
      if isMissing {
        #expect(try message(commands).method == "HEAD")
        commands = machine.handle(try answer(200, Self.whole))
      }
      let move = try message(commands)
      #expect((move.method, move.fields["Overwrite"]) == ("MOVE", "T"))
      try expectProof(&machine, after: 204)
    }
  }

  @Test func `A directory of that name is never replaced`() throws {
    for isMissing in [false, true] {
      var machine = try moving()
      _ = machine.handle(try answer(412))
      var commands = machine.handle(isMissing ? try answer(501) : try type("<d:collection/>"))
      if isMissing {
        #expect(try message(commands).method == "HEAD")
        commands = machine.handle(try answer(301, [("Location", "/a/b/f.bin/?k=v")]))
      }
      #expect(try message(commands).method == "DELETE")
      #expect(failure(of: machine.handle(try answer(204)))?.code == .nameConflict)
    }
  }

  @Test func `What is not known to be a file is not replaced either`() throws {
    let page = [("Content-Type", "text/html"), ("Content-Length", "20")]
    for head in [try answer(200, page), try answer(404), try answer(403)] {
      var machine = try moving()
      _ = machine.handle(try answer(412))
      #expect(try message(machine.handle(try answer(207, body: "<html>"))).method == "HEAD")
      #expect(try message(machine.handle(head)).method == "DELETE")
      #expect(failure(of: machine.handle(try answer(204)))?.code == .nameConflict)
    }
  }

  @Test func `200 is no answer to MOVE, so it is looked for`() throws {
    var machine = try moving()
    let look = try message(machine.handle(try answer(200, [("Content-Type", "text/html")])))
    #expect((look.method, look.url.path.hasSuffix(".tmp")) == ("HEAD", true))
    #expect(try message(machine.handle(try answer(404))).url.path == "/a/b/f.bin")
    #expect(
      machine.handle(try answer(200, Self.whole)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A MOVE answered 200 twice without effect is given up, and the file sent directly`()
    throws
  {
    var machine = try moving()
    for _ in 0..<2 {
      #expect(try message(machine.handle(try answer(200))).method == "HEAD")
      let commands = machine.handle(try answer(200, Self.whole))
      guard commands == [.checkSource] else {
        #expect(try message(commands).method == "DELETE")
        return
      }
      #expect(try message(machine.handle(.sourceChecked(nil))).method == "MOVE")
    }
    Issue.record("it is moved for ever")
  }

  @Test func `A temporary name that was hidden from the start proves no MOVE`() throws {
    var machine = try sending()
    #expect(try message(machine.handle(try answer(201))).method == "HEAD")
    #expect(try message(machine.handle(try answer(404))).method == "PROPFIND")
    #expect(machine.handle(try answer(404)) == [.checkSource])
    _ = machine.handle(.sourceChecked(nil))
    #expect(try message(machine.handle(try answer(404))).method == "MOVE")
    #expect(isRetry(machine.handle(try answer(500))))
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    // An older file of that length may have the name.
    #expect(isRetry(machine.handle(try answer(404))))
  }

  @Test func `Our own file, moved by a MOVE whose answer was lost, is a success`() throws {
    var machine = try moving()
    #expect(isRetry(machine.handle(.failed(lost, sent: 0))))
    _ = machine.handle(.start(nil))
    // The temporary name is still there for a moment, so MOVE is sent again.
    #expect(machine.handle(try answer(200, Self.whole)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "MOVE")
    #expect(try message(machine.handle(try answer(412))).method == "PROPFIND")
    #expect(try message(machine.handle(try type(""))).method == "HEAD")
    #expect(try message(machine.handle(try answer(404))).url.path == "/a/b/f.bin")
    #expect(
      machine.handle(try answer(200, Self.whole)) == [.deleteRecord, .finish(.completed)])
  }

  private func type(_ element: String) throws -> UploadEvent {
    try properties("<d:resourcetype>\(element)</d:resourcetype>")
  }
}
