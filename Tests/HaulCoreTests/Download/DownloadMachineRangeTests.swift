import HaulCore
import Testing

/// What an additional connection gets ends no download.
@Suite
struct AdditionalConnectionTests {
  @Test(arguments: [400, 402, 405, 406, 409, 410, 418, 401, 404, 451, 501, 505])
  func `An error status lowers the number of connections, and counts no attempt`(status: Int) throws
  {
    var script = try MachineScript.withTwo()
    check(try script.answer(2, status), is: ["drop 2", "refused", "release"])
    script.write(1, 99)
    check(script.end(1), is: ["publishing", "publish 100"])
  }

  @Test
  func `So do a page, the whole file, another range, another total and a broken redirect`() throws {
    let answers: [(Int, [String])] = [
      (200, ["Content-Length: 4", "Content-Type: text/html"]),
      (206, ["Content-Range: bytes 0-9/100", "ETag: \"v1\""]), (206, ["ETag: \"v1\""]),
      (206, ["Content-Type: multipart/byteranges; boundary=x"]),
      (206, ["Content-Range: bytes 51-99/101", "ETag: \"v1\""]), (204, []), (302, []),
    ]
    for (status, fields) in answers {
      var script = try MachineScript.withTwo()
      var commands = try script.answer(2, status, fields)
      if status == 200 {
        // The server may only ignore `If-Range`.
        check(commands, is: ["drop 2", "open 2 51-99"])
        commands = try script.answer(2, status, fields)
      }
      check(commands, is: ["drop 2", "refused", "release"])
      script.write(1, 99)
      check(script.end(1), is: ["publishing", "publish 100"])
    }
  }

  @Test func `So does an error without an answer, also one that no retry helps`() throws {
    for code in [TransferError.Code.tls, .tooManyRedirects, .redirectRefused, .protocolViolation] {
      var script = try MachineScript.withTwo()
      let failed = DownloadMachine.Event.failed(SegmentID(number: 2), TransferError(code, "no"))
      check(script.send(failed), is: ["refused", "release"])
    }
  }

  @Test func `So do retries that run out; errors of the disk end it`() throws {
    var script = try MachineScript.withTwo { $0.request.retry.retries = 0 }
    check(try script.answer(2, 500), is: ["drop 2", "refused", "release"])
    var full = try MachineScript.withTwo()
    let failed = DownloadMachine.Event.failed(
      SegmentID(number: 2), TransferError(.diskFull, "full"))
    check(full.send(failed), is: ["stop 1"])
  }

  @Test
  func `If the others have ended, it asks again, as the only one; then its answer counts`() throws {
    var script = try MachineScript.withTwo(upTo: 50) { $0.request.connections = 2 }
    script.write(1, 50)
    check(script.end(1), is: ["open 3 76-99 if"])
    check(try script.answer(2, 409), is: ["drop 2", "refused", "release"])
    check(try script.answer(3, 409), is: ["drop 3", "refused", "open 3 76-99 if"])
    var loop = script
    check(try script.answer(3, 409), is: ["drop 3", "open 3 whole"])
    check(try script.answer(3, 409), is: ["drop 3", "failed http-status"])
    let redirects = TransferError(.tooManyRedirects, "a loop")
    check(loop.send(.failed(SegmentID(number: 3), redirects)), is: ["open 3 whole"])
  }

  @Test
  func `The tail that an answered connection gave away is its own until an answer for it comes`()
    throws
  {
    var script = try MachineScript.withTwo { $0.request.minimumSplit = 40 }
    let grant = script.plan.reserve(SegmentID(number: 1), count: 60)
    script.plan.noteWritten(SegmentID(number: 1))
    #expect(grant.pieces == [1..<61])
    check(try script.range(2, 51, 99), is: ["drop 2", "release"])
    script.write(1, 39)
    check(script.end(1), is: ["publishing", "publish 100"])
    var answered = try MachineScript.withTwo()
    _ = try answered.range(2, 51, 99)
    check(answered.plan.reserve(SegmentID(number: 1), count: 60).pieces, is: [1..<51])
  }

  @Test func `So it is when its bytes come up to the tail, and no further yet`() throws {
    var script = try MachineScript.withTwo()
    let grant = script.plan.reserve(SegmentID(number: 1), count: 50)
    check(grant, is: .init(pieces: [1..<51], used: 50, isLast: false))
    #expect(script.plan.segments.keys.map(\.number) == [1])
  }
}

/// Another version on an additional connection.
@Suite
struct DoubtfulVersionTests {
  /// The first connection has all bytes; the second was shown another version.
  private func doubtful(
    tag: String? = "\"v2\"", total: Int = 100,
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    var script = try MachineScript.withTwo(change)
    check(try script.range(2, 51, 99, of: total, tag: tag), is: ["drop 2", "refused", "release"])
    script.write(1, 99)
    return script
  }

  @Test
  func `If the server sends it again at the end, the file changed, and starts over, once`() throws {
    var script = try doubtful()
    check(script.end(1), is: ["open 3 0-0"])
    check(try script.range(3, 0, 0, tag: "\"v2\""), is: ["drop 3", "restarted", "open 4 0-"])
    check(try script.range(4, 0, 99, tag: "\"v2\""), is: ["transferring", "receive 4 0 new"])
    // One connection has the rest, so no other can be shown a third version.
    check(script.deliver(4), is: [])
    script.write(4, 99)
    check(script.end(4), is: ["publishing", "publish 100"])
  }

  @Test
  func `If it sends the first version, or a new one each time, the file is complete`() throws {
    for tag in ["\"v1\"", "\"v3\""] {
      var script = try doubtful()
      check(script.end(1), is: ["open 3 0-0"])
      check(try script.range(3, 0, 0, tag: tag), is: ["drop 3", "publishing", "publish 100"])
    }
    var failing = try doubtful()
    _ = failing.end(1)
    check(try failing.answer(3, 503), is: ["drop 3", "publishing", "publish 100"])
    var lost = try doubtful()
    _ = lost.end(1)
    check(lost.lose(3), is: ["publishing", "publish 100"])
  }

  @Test
  func `The same strong tag with another total is no other version; a digest proves the bytes`()
    throws
  {
    var script = try doubtful(tag: "\"v1\"", total: 101)
    check(script.end(1), is: ["publishing", "publish 100"])
    let checksum = try #require(Checksum("crc32c=00000000"))
    var proved = try doubtful { $0.request.checksums = [checksum] }
    check(proved.end(1), is: ["verifying", "verify"])
  }

  @Test func `A stream whose file changed fails: its reader has the older bytes`() throws {
    var script = try MachineScript { $0.request.destination = .stream }
    script.plan = SegmentPlan(window: StreamWindow(size: 1000, connections: 2))
    _ = script.start()
    _ = try script.range(1, 0, 99)
    _ = script.deliver(1)
    let generation = try #require(script.plan.window?.generation)
    check(script.plan.commitToReader(generation: generation), is: true)
    _ = script.send(.connectionGranted)
    _ = try script.range(2, 51, 99, tag: "\"v2\"")
    script.write(1, 99)
    check(script.end(1), is: ["open 3 0-0"])
    check(
      try script.range(3, 0, 0, tag: "\"v2\""), is: ["drop 3", "failed changed-on-server"])
  }

  @Test
  func `A tag that is new in each answer identifies nothing: after a break the file starts over`()
    throws
  {
    var script = try MachineScript.running { $0.request.connections = 1 }
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 2 1-99 if"])
    check(try script.whole(2, tag: "\"v2\""), is: ["drop 2", "open 2 1-99"])
    check(try script.range(2, 1, 99, tag: "\"v3\""), is: ["drop 2", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 3 1-99"])
    check(try script.range(3, 1, 99, tag: "\"v4\""), is: ["drop 3", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 4 whole"])
    check(try script.whole(4, tag: "\"v5\""), is: ["drop 4", "restarted", "open 5 0-"])
    check(try script.range(5, 0, 99, tag: "\"v6\""), is: ["transferring", "receive 5 0 new"])
    check(script.deliver(5, 40), is: [])
    // The next break is no second change: it starts over again, and its attempts count.
    check(script.lose(5), is: ["restarted", "wake retry", "attempt 2", "leave"])
  }
}

/// A mirror that fails.
@Suite
struct FailingMirrorTests {
  private static let mirror = "http://b.example/f"

  /// The mirror broke after some bytes.
  private func broken() throws -> MachineScript {
    var script = try MachineScript { $0.request.connections = 1 }
    _ = script.start()
    _ = try script.range(1, 0, 99, from: Self.mirror)
    _ = script.deliver(1)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    return script
  }

  @Test
  func `The third failed attempt goes to the original address, which may name another one now`()
    throws
  {
    var script = try broken()
    check(script.send(.slotGranted), is: ["open 2 1-99 if at b.example"])
    for (number, place) in [(3, " at b.example"), (4, "")] {
      _ = try script.answer(number - 1, 503)
      _ = script.send(.timer(.retry))
      check(script.send(.slotGranted), is: ["open \(number) 1-99 if\(place)"])
    }
    check(
      try script.range(4, 1, 99, from: "http://c.example/f"),
      is: ["drop 4", "restarted", "open 5 0-"])
  }

  @Test func `So does the last one, at once`() throws {
    var script = try MachineScript {
      $0.request.connections = 1
      $0.request.retry.retries = 1
    }
    _ = script.start()
    _ = try script.range(1, 0, 99, from: Self.mirror)
    _ = script.deliver(1)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 2 1-99 if at b.example"])
    check(try script.answer(2, 500), is: ["drop 2", "open 3 1-99 if"])
    check(try script.range(3, 1, 99, from: Self.mirror), is: ["receive 3 1"])
  }

  @Test func `Without bytes to continue, each attempt goes to the original address`() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, tag: nil, from: Self.mirror)
    _ = script.deliver(1, 40)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 2 0-"])
  }
}
