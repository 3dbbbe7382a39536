import HaulCore
import Testing

/// Answers to the question for the object, and to one PUT, that do not say what they seem to.
extension S3PublicationTests {
  private typealias Script = S3MachineTests

  private static func signing(_ message: UploadMessage) -> Double? { message.signing?.clockOffset }

  @Test(
    arguments: [301, 302, 303, 307, 308],
    ["https://h.example/login", "/b/other", "//o.example/b/k"])
  func `A question that is answered with a page elsewhere moves no object`(
    status: Int, location: String
  ) throws {
    for length in [1, Self.part + 1] {
      var machine = try Self.machine(length)
      let address = try message(machine.handle(.start(nil))).url
      let next = machine.handle(try answer(status, [("Location", location)]))
      let sent = length == 1 ? try message(machine.handle(Script.digest(1))) : try message(next)
      #expect(sent.url.origin == address.origin && sent.url.path == address.path)
      #expect(Self.conditions(sent) == [])
    }
  }

  @Test func `A store with two clocks is asked twice, and no more`() throws {
    var machine = try Self.machine(1)
    _ = machine.handle(.start(nil))
    // An hour after the time of the answers, and an hour before it.
    let late = [("Date", "Tue, 14 Nov 2023 23:13:20 GMT")]
    let early = [("Date", "Tue, 14 Nov 2023 21:13:20 GMT")]
    #expect(Self.signing(try message(machine.handle(try answer(403, late)))) == 3600)
    #expect(machine.handle(try answer(403, early)) == [.digest(0..<1, part: 1, [.md5, .crc32c])])
    #expect(Self.signing(try message(machine.handle(Script.digest(1)))) == 3600)
  }

  @Test func `A request that comes too late by the store's clock is sent again with that`() throws {
    var machine = try Self.machine(1) { $0.retry.retries = 2 }
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    let late = [("Date", "Tue, 14 Nov 2023 23:13:20 GMT")]
    let skewed = try answer(403, late, body: Script.refusal("RequestTimeTooSkewed"), part: 1)
    #expect(Self.signing(try message(machine.handle(Script.digest(1)))) == 0)
    for _ in 1...2 {
      #expect(retried(machine.handle(skewed))?.code == .unauthorized)
      _ = machine.handle(.start(nil))
      let put = try message(machine.handle(Script.digest(1)))
      #expect(Self.signing(put) == 3600 && Self.conditions(put) == ["If-None-Match: *"])
    }
    // Each refusal is an attempt.
    #expect(failure(of: machine.handle(skewed))?.code == .unauthorized)
  }

  @Test(arguments: [S3MachineTests.hex(1), S3MachineTests.hex(2)])
  func `After a lost answer to one PUT, the MD5 says whether the object is ours`(
    tag: String
  ) throws {
    var machine = try Self.machine(1)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    _ = machine.handle(Script.digest(1))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(retried(machine.handle(.failed(lost, sent: 1, part: 1))) != nil)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Script.digest(1))
    let unmet = try answer(412, body: Script.refusal("PreconditionFailed"), part: 1)
    #expect(try message(machine.handle(unmet)).method == "HEAD")
    // The store has dropped the metadata.
    let end = machine.handle(
      try answer(200, [("Content-Length", "1"), ("ETag", "\"\(tag)\"")]))
    #expect((end.last == .finish(.completed)) == (tag == S3MachineTests.hex(1)))
    #expect(!end.contains(.reportAdoption(length: 1)))
    if tag != S3MachineTests.hex(1) { #expect(failure(of: end)?.code == .nameConflict) }
  }
}
