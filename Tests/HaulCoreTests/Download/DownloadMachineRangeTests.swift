import HaulCore
import Testing

@Suite("What an additional connection gets ends no download")
struct AdditionalConnectionTests {
  @Test(
    "An error status lowers the number of connections, and counts no attempt",
    arguments: [400, 402, 405, 406, 409, 410, 418, 401, 404, 451, 501, 505])
  func status(status: Int) throws {
    var script = try MachineScript.withTwo()
    check(try script.answer(2, status), is: ["drop 2", "refused", "release"])
    script.write(1, 99)
    check(script.end(1), is: ["publishing", "publish 100"])
  }

  @Test("So do a page, the whole file, another range, another total and a broken redirect")
  func otherAnswers() throws {
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

  @Test("So does an error without an answer, also one that no retry helps")
  func noAnswer() throws {
    for code in [TransferError.Code.tls, .tooManyRedirects, .redirectRefused, .protocolViolation] {
      var script = try MachineScript.withTwo()
      let failed = DownloadMachine.Event.failed(SegmentID(number: 2), TransferError(code, "no"))
      check(script.send(failed), is: ["refused", "release"])
    }
  }

  @Test("So do retries that run out; errors of the disk end it")
  func runsOut() throws {
    var script = try MachineScript.withTwo { $0.retry.retries = 0 }
    check(try script.answer(2, 500), is: ["drop 2", "refused", "release"])
    var full = try MachineScript.withTwo()
    let failed = DownloadMachine.Event.failed(
      SegmentID(number: 2), TransferError(.diskFull, "full"))
    check(full.send(failed), is: ["stop 1"])
  }

  @Test(
    "If the others have ended meanwhile, it asks again, as the only one; then its answer counts")
  func alone() throws {
    var script = try MachineScript.withTwo(upTo: 50) { $0.connections = 2 }
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

  @Test("The tail that an answered connection gave away is its own until an answer for it comes")
  func takesBack() throws {
    var script = try MachineScript.withTwo { $0.minimumSplit = 40 }
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

  @Test("So it is when its bytes come up to the tail, and no further yet")
  func takesBackAtTheEnd() throws {
    var script = try MachineScript.withTwo()
    let grant = script.plan.reserve(SegmentID(number: 1), count: 50)
    check(grant, is: .init(pieces: [1..<51], used: 50, isLast: false))
    #expect(script.plan.segments.keys.map(\.number) == [1])
  }
}

@Suite("Another version on an additional connection")
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

  @Test("If the server sends it again at the end, the file changed, and starts over, once")
  func changed() throws {
    var script = try doubtful()
    check(script.end(1), is: ["open 3 0-0"])
    check(try script.range(3, 0, 0, tag: "\"v2\""), is: ["drop 3", "restarted", "open 4 0-"])
    check(try script.range(4, 0, 99, tag: "\"v2\""), is: ["transferring", "receive 4 0 new"])
    // One connection has the rest, so no other can be shown a third version.
    check(script.deliver(4), is: [])
    script.write(4, 99)
    check(script.end(4), is: ["publishing", "publish 100"])
  }

  @Test("If it sends the first version, or a new one each time, the file is complete")
  func unchanged() throws {
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

  @Test("The same strong tag with another total is no other version; a digest proves the bytes")
  func noDoubt() throws {
    var script = try doubtful(tag: "\"v1\"", total: 101)
    check(script.end(1), is: ["publishing", "publish 100"])
    let checksum = try #require(Checksum("crc32c=00000000"))
    var proved = try doubtful { $0.checksums = [checksum] }
    check(proved.end(1), is: ["verifying", "verify"])
  }

  @Test("A stream whose file changed fails: its reader has the older bytes")
  func stream() throws {
    var script = try MachineScript { $0.isStream = true }
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

  @Test("A tag that is new in each answer identifies nothing: after a break the file starts over")
  func unstable() throws {
    var script = try MachineScript.running { $0.connections = 1 }
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

@Suite("Servers that refuse or break requests for a range")
struct RefusedRangeTests {
  @Test(
    "The first request is sent again without a range, once, before the download fails",
    arguments: [400, 403, 404, 405, 406, 409, 410, 412, 418, 501])
  func refused(status: Int) throws {
    var script = try MachineScript()
    _ = script.start()
    check(try script.answer(1, status), is: ["drop 1", "open 1 whole"])
    var served = script
    check(try served.whole(1), is: ["transferring", "receive 1 0 new"])
    let commands = try script.answer(1, status)
    #expect(commands.first == "drop 1" && commands.last?.hasPrefix("failed") == true)
  }

  @Test("A status that says nothing of the range fails at once", arguments: [401, 407])
  func credentials(status: Int) throws {
    var script = try MachineScript()
    _ = script.start()
    let commands = try script.answer(1, status)
    #expect(commands.last?.hasPrefix("failed") == true)
  }

  @Test("Of several attempts that fail, each second one has no range")
  func alternates() throws {
    var script = try MachineScript { $0.connections = 2 }
    _ = script.start()
    for (number, request) in [(2, "0-"), (3, "whole"), (4, "0-"), (5, "whole")] {
      _ = script.lose(number - 1)
      _ = script.send(.timer(.retry))
      check(script.send(.slotGranted), is: ["open \(number) \(request)"])
    }
    check(try script.whole(5), is: ["transferring", "receive 5 0 new"])
    // That may have been luck, so ranges are tried beside it.
    check(script.deliver(5), is: ["request"])
    check(script.send(.connectionGranted), is: ["open 6 51-99 if"])
    check(script.lose(6), is: ["limit", "release"])
  }

  @Test("The last attempt is repeated without a range, at once")
  func lastAttempt() throws {
    var script = try MachineScript { $0.retry.retries = 0 }
    _ = script.start()
    check(try script.answer(1, 500), is: ["drop 1", "open 2 whole"])
    check(try script.answer(2, 500), is: ["drop 2", "failed http-status"])
  }

  @Test("Silence costs a timeout, so the next attempt has no range; then they alternate")
  func silent() throws {
    for code in [TransferError.Code.timeout, .stalled] {
      let error = TransferError(code, "silent", isRetryable: true)
      var script = try MachineScript { $0.connections = 2 }
      _ = script.start()
      for (id, request) in [(2, "whole"), (3, "0-"), (4, "whole")] {
        _ = script.send(.failed(SegmentID(number: id - 1), error))
        _ = script.send(.timer(.retry))
        check(script.send(.slotGranted), is: ["open \(id) \(request)"])
      }
      check(try script.whole(4), is: ["transferring", "receive 4 0 new"])
    }
  }

  @Test("So does a head without a byte of the body; what began is forgotten")
  func headOnly() throws {
    let stalled = TransferError(.stalled, "silent", isRetryable: true)
    for tag in ["\"v1\"", nil] {
      var script = try MachineScript()
      _ = script.start()
      _ = try script.range(1, 0, 99, tag: tag)
      _ = script.send(.failed(SegmentID(number: 1), stalled))
      _ = script.send(.timer(.retry))
      check(script.send(.slotGranted), is: ["open 2 whole"])
      check(try script.whole(2, tag: tag), is: ["transferring", "receive 2 0 new"])
      var last = try MachineScript { $0.retry.retries = 0 }
      _ = last.start()
      _ = try last.range(1, 0, 99, tag: tag)
      check(last.send(.failed(SegmentID(number: 1), stalled)), is: ["open 2 whole"])
      check(try last.whole(2, tag: tag), is: ["transferring", "receive 2 0 new"])
    }
  }

  @Test("The last silent attempt is repeated, unless others found the host silent too")
  func lastSilentAttempt() throws {
    let error = TransferError(.timeout, "silent", isRetryable: true)
    var script = try MachineScript { $0.retry.retries = 0 }
    _ = script.start()
    var known = script
    check(script.send(.failed(SegmentID(number: 1), error)), is: ["open 2 whole"])
    known.machine.hostHealth.failures = 1
    check(
      known.send(.failed(SegmentID(number: 1), error)).last, is: "failed timeout")
  }

  @Test("A loop of redirects, too, is left once by a request without a range")
  func loop() throws {
    let error = TransferError(.tooManyRedirects, "a loop")
    var script = try MachineScript()
    _ = script.start()
    check(script.send(.failed(SegmentID(number: 1), error)), is: ["open 1 whole"])
    var served = script
    check(try served.whole(1), is: ["transferring", "receive 1 0 new"])
    check(script.send(.failed(SegmentID(number: 1), error)), is: ["failed too-many-redirects"])
  }

  @Test("Not if the server asked for a wait")
  func asksForWait() throws {
    var script = try MachineScript { $0.retry.retries = 0 }
    _ = script.start()
    let commands = try script.answer(1, 503, ["Retry-After: 7"])
    #expect(commands.last == "failed http-status", "\(commands)")
  }

  @Test("With bytes on disk, the whole file is requested only before the download fails")
  func resumed() throws {
    var script = try MachineScript(received: [0..<50], length: 100) { $0.retry.retries = 2 }
    check(script.resume(tag: "\"v1\"", length: 100), is: ["connecting", "open 1 50-99 if"])
    for number in 2...3 {
      _ = script.lose(number - 1)
      _ = script.send(.timer(.retry))
      check(script.send(.slotGranted), is: ["open \(number) 50-99 if"])
    }
    check(script.lose(3), is: ["open 4 whole"])
    check(try script.whole(4), is: ["transferring", "receive 4 0"])
    check(script.plan.reserve(SegmentID(number: 4), count: 60).pieces, is: [50..<60])
  }

  @Test("The second question about a change has no range: some servers answer only ranges wrongly")
  func confirmsWithoutRange() throws {
    var script = try MachineScript(received: [0..<50], length: 100)
    _ = script.resume(tag: "\"v1\"", length: 100)
    _ = try script.range(1, 50, 99, of: 101)
    check(script.send(.timer(.confirm)), is: ["open 2 50-99"])
    _ = try script.range(2, 50, 99, of: 101)
    check(script.send(.timer(.confirm)), is: ["open 3 whole"])
    check(try script.whole(3), is: ["transferring", "receive 3 0"])
    #expect(script.plan.receivedCount == 50)
  }
}

@Suite("A range answered with nothing, or with a page, is believed only if a plain request has it")
struct UnbelievedAnswerTests {
  private static let page = ["Content-Type: text/html", "Content-Length: 4"]

  /// Started, for a file whose address names no page.
  private func started(
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    let url = try ResourceURL("http://a.example/f.iso")
    var script = try MachineScript {
      $0.url = url
      change(&$0)
    }
    _ = script.start()
    return script
  }

  @Test("The file of the plain request is taken, on one connection")
  func file() throws {
    for (status, fields) in [
      (200, ["Content-Length: 0"]), (200, Self.page), (416, ["Content-Range: bytes */0"]),
    ] {
      var script = try started()
      check(try script.answer(1, status, fields), is: ["drop 1", "open 1 whole at a.example"])
      #expect(script.machine.needsConfirmation, "a cache may have that answer")
      check(try script.whole(1), is: ["transferring", "receive 1 0 new"])
      check(script.deliver(1), is: [])
    }
  }

  @Test("The same nothing, or page, is the answer")
  func same() throws {
    var empty = try started()
    _ = try empty.whole(1, length: 0)
    check(try empty.whole(1, length: 0), is: ["drop 1", "begin", "publishing", "publish 0"])
    var page = try started()
    _ = try page.answer(1, 200, Self.page)
    check(try page.answer(1, 200, Self.page), is: ["transferring", "receive 1 0 new"])
    #expect(page.machine.version?.isUnexpectedPage == true)
  }

  @Test("So is a body without a length that has no byte")
  func unknownLength() throws {
    for isEmpty in [true, false] {
      var script = try started()
      check(try script.whole(1, length: nil), is: ["transferring", "receive 1 0 new"])
      check(script.end(1), is: ["open 2 whole at a.example"])
      check(try script.whole(2, length: nil), is: ["transferring", "receive 2 0 new"])
      if !isEmpty { _ = script.deliver(2, 70) }
      check(script.end(2), is: ["publishing", "publish \(isEmpty ? 0 : 70)"])
    }
  }

  @Test("It is asked before the name is taken, and before an existing file counts")
  func first() throws {
    var named = try started { $0.learnsName = true }
    check(try named.answer(1, 200, Self.page), is: ["drop 1", "open 1 whole at a.example"])
    check(try named.whole(1), is: ["bind 1"])
    var existing = try started {
      $0.existing = [.init(path: "f", size: 0, modified: 0)]
      $0.needsExisting = true
    }
    check(try existing.whole(1, length: 0), is: ["drop 1", "open 1 whole at a.example"])
  }

  @Test("A page that the address names, and a range of a page, cost no further request")
  func expected() throws {
    var script = try MachineScript()
    _ = script.start()
    check(try script.answer(1, 200, Self.page), is: ["transferring", "receive 1 0 new"])
    var ranged = try started()
    let fields = ["Content-Type: text/html", "Content-Range: bytes 0-3/4"]
    check(try ranged.answer(1, 206, fields), is: ["transferring", "receive 1 0 new"])
  }
}

@Suite("A mirror that fails")
struct FailingMirrorTests {
  private static let mirror = "http://b.example/f"

  /// The mirror broke after some bytes.
  private func broken() throws -> MachineScript {
    var script = try MachineScript { $0.connections = 1 }
    _ = script.start()
    _ = try script.range(1, 0, 99, from: Self.mirror)
    _ = script.deliver(1)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    return script
  }

  @Test("The third failed attempt goes to the original address, which may name another one now")
  func thirdAttempt() throws {
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

  @Test("So does the last one, at once")
  func lastAttempt() throws {
    var script = try MachineScript {
      $0.connections = 1
      $0.retry.retries = 1
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

  @Test("Without bytes to continue, each attempt goes to the original address")
  func nothingToKeep() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, tag: nil, from: Self.mirror)
    _ = script.deliver(1, 40)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 2 0-"])
  }
}
