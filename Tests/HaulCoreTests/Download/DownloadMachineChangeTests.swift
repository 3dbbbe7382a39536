import HaulCore
import Testing

/// A changed file is detected, confirmed by two requests, and never mixed.
@Suite
struct DownloadMachineChangeTests {
  /// Half of the file is on disk, the connection was lost, and the range is requested again.
  private func resumed() throws -> MachineScript {
    var script = try MachineScript(received: [0..<50], length: 100)
    _ = script.resume(tag: "\"v1\"", length: 100)
    return script
  }

  @Test
  func `After a 200 to If-Range it requests the plain range; the same validator resumes`() throws {
    var script = try resumed()
    check(try script.whole(1), is: ["drop 1", "open 1 50-99"])
    check(try script.range(1, 50, 99), is: ["transferring", "receive 1 50"])
  }

  @Test func `A plain 200 with the same version is read, and bytes on disk are skipped`() throws {
    var script = try resumed()
    _ = try script.whole(1)
    check(try script.whole(1), is: ["transferring", "receive 1 0"])
    let grant = script.plan.reserve(SegmentID(number: 1), count: 60)
    #expect(grant.pieces == [50..<60])
  }

  @Test
  func `A change is confirmed twice, a second apart, then it starts over; a second change fails`()
    throws
  {
    var script = try resumed()
    check(try script.whole(1, tag: "\"v2\""), is: ["drop 1", "open 1 50-99"])
    check(try script.range(1, 50, 99, tag: "\"v2\""), is: ["drop 1", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 2 50-99"])
    check(try script.range(2, 50, 99, tag: "\"v2\""), is: ["drop 2", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 3 whole"])
    check(try script.whole(3, tag: "\"v2\""), is: ["drop 3", "restarted", "open 4 0-"])
    #expect(script.plan.receivedCount == 0)
    check(try script.range(4, 0, 99, tag: "\"v2\""), is: ["transferring", "receive 4 0 new"])
    _ = script.deliver(4)
    _ = script.lose(4)
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 5 1-99"])
    check(
      try script.range(5, 1, 99, tag: "\"v3\""), is: ["drop 5", "failed changed-on-server"])
  }

  @Test(arguments: 0..<4)
  func `A whole answer that looks like a login page fails and keeps the bytes`(kind: Int) throws {
    // The name of the file counts like that of the address.
    let url = try ResourceURL("http://a.example/\(kind == 3 ? "dl" : "f.iso")")
    var script = try MachineScript(received: [0..<50], length: 100) { $0.request.url = url }
    _ = script.resume(tag: "\"v1\"", length: 100, fileName: "f.iso")
    let fields = [
      ["Content-Type: text/html; charset=utf-8", "ETag: \"v2\"", "Content-Length: 90"],
      ["Content-Length: 90"], ["ETag: \"v2\"", "Content-Length: 4"],
    ][kind % 3]
    check(try script.answer(1, 200, fields), is: ["drop 1", "open 1 50-99 at a.example"])
    check(try script.answer(1, 200, fields), is: ["drop 1", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 2 50-99 at a.example"])
    check(try script.answer(2, 200, fields), is: ["drop 2", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 3 whole at a.example"])
    check(try script.answer(3, 200, fields), is: ["drop 3", "failed changed-on-server"])
    #expect(script.plan.receivedCount == 50)
  }

  @Test
  func `A page is expected where the address names one, and a new version may be half as long`()
    throws
  {
    for (path, fields) in [
      ("f.html", ["Content-Type: text/html", "ETag: \"v2\"", "Content-Length: 90"]),
      ("f.iso", ["Content-Type: application/octet-stream", "ETag: \"v2\"", "Content-Length: 50"]),
    ] {
      let url = try ResourceURL("http://a.example/\(path)")
      var script = try MachineScript(received: [0..<50], length: 100) { $0.request.url = url }
      _ = script.resume(tag: "\"v1\"", length: 100)
      _ = try script.answer(1, 200, fields)
      check(try script.answer(1, 200, fields), is: ["drop 1", "wake confirm 1"])
    }
  }

  @Test
  func `If one of many nodes has another version, the server is asked again, and the bytes stay`()
    throws
  {
    var script = try resumed()
    _ = try script.whole(1, tag: "\"v2\"")
    _ = try script.range(1, 50, 99, tag: "\"v2\"")
    check(script.send(.timer(.confirm)), is: ["open 2 50-99"])
    check(try script.range(2, 50, 99), is: ["transferring", "receive 2 50"])
    #expect(script.plan.receivedCount == 50)
  }

  @Test func `Additional connections that are shown another version end no working one`() throws {
    var script = try MachineScript.withTwo { $0.request.connections = 4 }
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    _ = script.send(.connectionGranted)
    _ = script.send(.connectionGranted)
    _ = try script.whole(3, tag: "\"v2\"")
    check(try script.range(3, 26, 50, tag: "\"v2\""), is: ["drop 3", "refused", "release"])
    #expect(script.plan.receivedCount == 2)
    check(try script.range(4, 76, 99, tag: "\"v2\""), is: ["drop 4", "refused", "release"])
    check(script.lose(1), is: ["wake retry", "attempt 1", "release"])
  }

  @Test func `Answers to earlier requests confirm nothing`() throws {
    var script = try MachineScript.withTwo(upTo: 50) { $0.request.connections = 2 }
    script.write(1, 50)
    check(script.end(1), is: ["open 3 76-99 if"])
    check(try script.whole(2, tag: "\"v2\""), is: ["drop 2", "open 2 51-75"])
    check(try script.range(2, 51, 75, tag: "\"v2\""), is: ["drop 2", "stop 3"])
    check(try script.range(3, 76, 99, tag: "\"v2\""), is: ["drop 3", "wake confirm 1"])
  }

  @Test func `An answer without a validator is not joined with bytes on disk`() throws {
    var script = try MachineScript(received: [0..<50], length: 100)
    _ = script.resume(tag: "\"v1\"", length: 100)
    let commands = try script.range(1, 50, 99, tag: nil)
    #expect(commands.first == "drop 1")
    #expect(!commands.contains { $0.hasPrefix("receive") })
  }

  @Test func `416 to a range that existed means a change`() throws {
    var script = try resumed()
    check(
      try script.answer(1, 416, ["Content-Range: bytes */20"]), is: ["drop 1", "wake confirm 1"])
  }

  @Test
  func `A version without a first byte is forgotten: the next answer begins the file`() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99)
    check(script.lose(1), is: ["wake retry", "attempt 1", "leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
    check(script.send(.slotGranted), is: ["open 2 0-"])
    check(
      try script.range(2, 0, 99, tag: "\"v2\""), is: ["transferring", "receive 2 0 new"])
  }

  @Test func `Nothing is opened before the first byte of a new version is written`() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99)
    check(script.send(.connectionGranted), is: [])
    check(script.deliver(1), is: ["open 2 51-99 if"])
  }

  @Test
  func `Without a validator, an interrupted file starts over at each retry, which is not a change`()
    throws
  {
    var script = try MachineScript()
    _ = script.start()
    for attempt in 1...3 {
      check(
        try script.range(attempt, 0, 99, tag: nil),
        is: ["transferring", "receive \(attempt) 0 new"])
      check(script.deliver(attempt, 40), is: [])
      check(
        script.lose(attempt), is: ["restarted", "wake retry", "attempt \(attempt)", "leave"])
      check(script.send(.timer(.retry)), is: ["enter"])
      check(script.send(.slotGranted), is: ["open \(attempt + 1) 0-"])
    }
  }
}
