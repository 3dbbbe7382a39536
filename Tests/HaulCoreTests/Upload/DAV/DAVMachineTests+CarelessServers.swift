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
}
