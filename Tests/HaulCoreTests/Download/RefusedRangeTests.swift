import HaulCore
import Testing

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
    known.surroundings.hostHealth.failures = 1
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
    _ found: DownloadMachine.Found = .init(),
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    let url = try ResourceURL("http://a.example/f.iso")
    var script = try MachineScript {
      $0.url = url
      change(&$0)
    }
    _ = script.start(found)
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
    var existing = try started(
      .init(existing: [.init(path: "f", size: 0, modified: 0)], needsExisting: true))
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
