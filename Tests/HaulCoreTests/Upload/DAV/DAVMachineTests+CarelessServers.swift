import HaulCore
import Testing

/// Servers that refuse, delay or change what WebDAV asks for (decision 026).
extension DAVMachineTests {
  @Test func `A temporary name does not end with what Nextcloud and ownCloud refuse`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    guard case .storeRecord(let record)? = machine.handle(try answer(405)).last else { return }
    let name = try ResourceURL(record.address).path
    #expect(!name.hasSuffix(".part") && !name.hasSuffix(".filepart"))
  }

  @Test(arguments: [400, 403, 404, 405, 406, 409, 415, 422, 501])
  func `A server that refuses the temporary name gets the file under its own`(status: Int) throws {
    var machine = try sending()
    #expect(try message(machine.handle(try answer(status))).method == "DELETE")
    let error = retried(machine.handle(try answer(404)))
    #expect(error?.message.contains("directly to its own") == true)
    let put = try message(machine.handle(.start(nil)))
    #expect((put.method, put.url.absoluteString) == ("PUT", Self.address))
    #expect(machine.handle(try answer(201)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    #expect(machine.handle(try answer(200, Self.whole)) == [.finish(.completed)])
  }

  @Test(arguments: [423, 500, nil])
  func `A temporary name that is not deleted before the file is sent is deleted after it`(
    status: Int?
  ) throws {
    var machine = try sending()
    let temporary = try message(machine.handle(try answer(403))).url
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    let commands = machine.handle(try status.map { try answer($0) } ?? .failed(lost, sent: 0))
    #expect(!commands.contains(.deleteRecord), "a later run deletes it, if this one is killed")
    #expect(try message(machine.handle(.start(nil))).method == "PUT")
    _ = machine.handle(try answer(201))
    _ = machine.handle(.sourceChecked(nil))
    let delete = try message(machine.handle(try answer(200, Self.whole)))
    #expect((delete.method, delete.url) == ("DELETE", temporary))
    var refusing = machine
    #expect(machine.handle(try answer(204)) == [.deleteRecord, .finish(.completed)])
    #expect(refusing.handle(try answer(423)) == [.finish(.completed)])
  }

  @Test(arguments: [403, 405, 501])
  func `A server without MOVE gets the file under its own name, and the event says so`(
    status: Int
  ) throws {
    var machine = try moving { $0.retry.retries = 0 }
    #expect(try message(machine.handle(try answer(status))).method == "DELETE")
    let commands = machine.handle(try answer(204))
    #expect(commands.first == .deleteRecord)
    #expect(retried(commands)?.message.contains("to MOVE; the file goes directly") == true)
    let put = try message(machine.handle(.start(nil)))
    #expect((put.method, put.url.absoluteString) == ("PUT", Self.address))
  }

  @Test func `A server that always fails at the temporary name gets the file under its own`() throws
  {
    var machine = try sending { $0.retry.retries = 1 }
    #expect(isRetry(machine.handle(try answer(500))))
    _ = machine.handle(.start(nil))
    #expect(try message(machine.handle(try answer(500))).method == "DELETE")
    // A line about an attempt has the fact alone.
    #expect(retried(machine.handle(try answer(404)))?.fact.contains("directly") == true)
    #expect(try message(machine.handle(.start(nil))).url.absoluteString == Self.address)
    // Its only retry has been made.
    #expect(failure(of: machine.handle(try answer(500)))?.status == 500)
  }

  @Test func `A server that has fewer bytes of a file sent directly gets it again`() throws {
    var machine = try sending { $0.retry.retries = 1 }
    _ = machine.handle(try answer(403))
    _ = machine.handle(try answer(404))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(201))
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    let look = try message(machine.handle(try answer(200)))
    #expect((look.method, look.url.absoluteString) == ("PROPFIND", Self.address))
    #expect(retried(machine.handle(try properties(60)))?.code == .lengthMismatch)
  }

  @Test func `A stream that was sent is not sent again for want of MOVE`() throws {
    var machine = try moving()
    _ = machine.handle(.streamSent(length: nil))
    #expect(try message(machine.handle(try answer(405))).method == "DELETE")
    let error = failure(of: machine.handle(try answer(204)))
    #expect(error?.message.contains("MOVE") == true)
  }

  @Test(arguments: [99, 0, 101])
  func `A server that has another number of bytes gets the file again, and not its name`(
    length: Int
  ) throws {
    var machine = try sending { $0.retry.retries = 1 }
    _ = machine.handle(try answer(201))
    let look = try message(
      machine.handle(try answer(200, [("Content-Length", "\(length)"), ("ETag", "\"a\"")])))
    #expect((look.method, look.fields["Depth"]) == ("PROPFIND", "0"))
    #expect(retried(machine.handle(try properties(length)))?.code == .lengthMismatch)
    #expect(try message(machine.handle(.start(nil))).method == "PUT")
    _ = machine.handle(try answer(201))
    _ = machine.handle(try answer(405))
    #expect(try message(machine.handle(try properties(length))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .lengthMismatch)
  }

  @Test func `A server that has the same wrong number of bytes twice does not get the file again`()
    throws
  {
    var machine = try sending()
    _ = machine.handle(try answer(201))
    _ = machine.handle(try answer(405))
    #expect(retried(machine.handle(try properties(99))) != nil)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(201))
    _ = machine.handle(try answer(405))
    #expect(try message(machine.handle(try properties(99))).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .lengthMismatch)
  }

  @Test func `JSON that a WebDAV server has is a file, also without an extension`() throws {
    let address = try ResourceURL("http://h.example/a/b/f")
    var machine = try sending { $0.url = address }
    _ = machine.handle(try answer(403))
    _ = machine.handle(try answer(404))
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(201))
    _ = machine.handle(.sourceChecked(nil))
    let json = [("Content-Length", "60"), ("Content-Type", "application/json")]
    #expect(try message(machine.handle(try answer(200, json))).method == "PROPFIND")
    #expect(retried(machine.handle(try answer(405)))?.code == .lengthMismatch)
  }

  @Test func `PROPFIND decides where HEAD has another length`() throws {
    var machine = try sending()
    _ = machine.handle(try answer(201))
    _ = machine.handle(try answer(200, [("Content-Length", "60")]))
    #expect(machine.handle(try properties(100)) == [.checkSource])
  }

  @Test func `A server that says nothing about its files is believed`() throws {
    var machine = try sending()
    _ = machine.handle(try answer(201))
    _ = machine.handle(.failed(lost, sent: 0))
    #expect(machine.handle(.failed(lost, sent: 0)) == [.checkSource])
    var page = try sending()
    _ = page.handle(try answer(201))
    _ = page.handle(try answer(200, [("Content-Length", "7"), ("Content-Type", "text/html")]))
    #expect(page.handle(try answer(405)) == [.checkSource])
  }

  @Test func `A directory that exists is found although MKCOL is answered with 409`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(409))
    #expect(try message(machine.handle(try answer(409))).url.path == "/a/b/")
    guard case .storeRecord? = machine.handle(try properties(0)).last else {
      Issue.record("the file is not sent")
      return
    }
  }

  @Test(arguments: [423, 500, 502, 503, 504])
  func `A server that fails where the directory exists is asked whether it does`(status: Int)
    throws
  {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    #expect(try message(machine.handle(try answer(status))).method == "PROPFIND")
    guard case .storeRecord? = machine.handle(try properties(0)).last else {
      Issue.record("the file is not sent")
      return
    }
    var missing = try self.machine()
    _ = missing.handle(.start(nil))
    _ = missing.handle(try answer(status))
    #expect(retried(missing.handle(try answer(404)))?.status == status)
  }

  @Test func `A server that drops MKCOL is asked whether the directory exists`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    #expect(try message(machine.handle(.failed(lost, sent: 0))).method == "PROPFIND")
    guard case .storeRecord? = machine.handle(try properties(0)).last else {
      Issue.record("the file is not sent")
      return
    }
    var away = try self.machine()
    _ = away.handle(.start(nil))
    let refused = TransferError(.connect, "refused", isRetryable: true)
    #expect(isRetry(away.handle(.failed(refused, sent: 0))))
  }

  @Test(arguments: [301, 302, 308])
  func `A redirect to the same directory says that it exists`(status: Int) throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    guard case .storeRecord? = machine.handle(try answer(status, [("Location", "/a/b?k=v")])).last
    else {
      Issue.record("the file is not sent")
      return
    }
  }

  @Test func `A collection that has moved on its server is followed, and no other`() throws {
    var machine = try sending()
    let moved = [("Location", "/new/b/haul-1.tmp?k=v")]
    #expect(try message(machine.handle(try answer(308, moved))).url.path == "/new/b/")
    guard case .storeRecord(let record)? = machine.handle(try answer(405)).last else {
      Issue.record("the new place is not stored")
      return
    }
    #expect(record.address.hasPrefix("http://h.example/new/b/haul-"))
    var other = try sending()
    let commands = other.handle(try answer(308, [("Location", "http://other.example/a")]))
    #expect(try message(commands).method == "DELETE")
    #expect(failure(of: other.handle(try answer(204)))?.code == .redirectRefused)
  }

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
