import HaulCore
import Testing

/// Servers that refuse or break requests for a range.
@Suite
struct RefusedRangeTests {
  @Test(arguments: [400, 403, 404, 405, 406, 409, 410, 412, 418, 501])
  func `The first request is sent again without a range, once, before the download fails`(
    status: Int
  ) throws {
    var script = try MachineScript()
    _ = script.start()
    check(try script.answer(1, status), is: ["drop 1", "open 1 whole"])
    var served = script
    check(try served.whole(1), is: ["transferring", "receive 1 0 new"])
    let commands = try script.answer(1, status)
    #expect(commands.first == "drop 1" && commands.last?.hasPrefix("failed") == true)
  }

  @Test(arguments: [401, 407])
  func `A status that says nothing of the range fails at once`(status: Int) throws {
    var script = try MachineScript()
    _ = script.start()
    let commands = try script.answer(1, status)
    #expect(commands.last?.hasPrefix("failed") == true)
  }

  @Test func `Of several attempts that fail, each second one has no range`() throws {
    var script = try MachineScript { $0.request.connections = 2 }
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

  @Test func `The last attempt is repeated without a range, at once`() throws {
    var script = try MachineScript { $0.request.retry.retries = 0 }
    _ = script.start()
    check(try script.answer(1, 500), is: ["drop 1", "open 2 whole"])
    check(try script.answer(2, 500), is: ["drop 2", "failed http-status"])
  }

  @Test
  func `Silence costs a timeout, so the next attempt has no range; then they alternate`() throws {
    for code in [TransferError.Code.timeout, .stalled] {
      let error = TransferError(code, "silent", isRetryable: true)
      var script = try MachineScript { $0.request.connections = 2 }
      _ = script.start()
      for (id, request) in [(2, "whole"), (3, "0-"), (4, "whole")] {
        _ = script.send(.failed(SegmentID(number: id - 1), error))
        _ = script.send(.timer(.retry))
        check(script.send(.slotGranted), is: ["open \(id) \(request)"])
      }
      check(try script.whole(4), is: ["transferring", "receive 4 0 new"])
    }
  }

  @Test func `So does a head without a byte of the body; what began is forgotten`() throws {
    let stalled = TransferError(.stalled, "silent", isRetryable: true)
    for tag in ["\"v1\"", nil] {
      var script = try MachineScript()
      _ = script.start()
      _ = try script.range(1, 0, 99, tag: tag)
      _ = script.send(.failed(SegmentID(number: 1), stalled))
      _ = script.send(.timer(.retry))
      check(script.send(.slotGranted), is: ["open 2 whole"])
      check(try script.whole(2, tag: tag), is: ["transferring", "receive 2 0 new"])
      var last = try MachineScript { $0.request.retry.retries = 0 }
      _ = last.start()
      _ = try last.range(1, 0, 99, tag: tag)
      check(last.send(.failed(SegmentID(number: 1), stalled)), is: ["open 2 whole"])
      check(try last.whole(2, tag: tag), is: ["transferring", "receive 2 0 new"])
    }
  }

  @Test
  func `The last silent attempt is repeated, unless others found the host silent too`() throws {
    let error = TransferError(.timeout, "silent", isRetryable: true)
    var script = try MachineScript { $0.request.retry.retries = 0 }
    _ = script.start()
    var known = script
    check(script.send(.failed(SegmentID(number: 1), error)), is: ["open 2 whole"])
    known.surroundings.hostHealth.failures = 1
    check(
      known.send(.failed(SegmentID(number: 1), error)).last, is: "failed timeout")
  }

  @Test func `A loop of redirects, too, is left once by a request without a range`() throws {
    let error = TransferError(.tooManyRedirects, "a loop")
    var script = try MachineScript()
    _ = script.start()
    check(script.send(.failed(SegmentID(number: 1), error)), is: ["open 1 whole"])
    var served = script
    check(try served.whole(1), is: ["transferring", "receive 1 0 new"])
    check(script.send(.failed(SegmentID(number: 1), error)), is: ["failed too-many-redirects"])
  }

  @Test func `Not if the server asked for a wait`() throws {
    var script = try MachineScript { $0.request.retry.retries = 0 }
    _ = script.start()
    let commands = try script.answer(1, 503, ["Retry-After: 7"])
    #expect(commands.last == "failed http-status", "\(commands)")
  }

  @Test
  func `With bytes on disk, the whole file is requested only before the download fails`() throws {
    var script = try MachineScript(received: [0..<50], length: 100) { $0.request.retry.retries = 2 }
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

  @Test
  func `The second question about a change has no range: some servers answer only ranges wrongly`()
    throws
  {
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

/// A range answered with nothing, or with a page, is believed only if a plain request has it.
@Suite
struct UnbelievedAnswerTests {
  private static let page = ["Content-Type: text/html", "Content-Length: 4"]

  /// Started, for a file whose address names no page.
  private func started(
    _ found: DownloadMachine.Found = .init(),
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    let url = try ResourceURL("http://a.example/f.iso")
    var script = try MachineScript {
      $0.request.url = url
      change(&$0)
    }
    _ = script.start(found)
    return script
  }

  @Test func `The file of the plain request is taken, on one connection`() throws {
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

  @Test func `The same nothing, or page, is the answer`() throws {
    var empty = try started()
    _ = try empty.whole(1, length: 0)
    check(try empty.whole(1, length: 0), is: ["drop 1", "begin", "publishing", "publish 0"])
    var page = try started()
    _ = try page.answer(1, 200, Self.page)
    check(try page.answer(1, 200, Self.page), is: ["transferring", "receive 1 0 new"])
    #expect(page.machine.version?.page != nil)
  }

  @Test func `So is a body without a length that has no byte`() throws {
    for isEmpty in [true, false] {
      var script = try started()
      check(try script.whole(1, length: nil), is: ["transferring", "receive 1 0 new"])
      check(script.end(1), is: ["open 2 whole at a.example"])
      check(try script.whole(2, length: nil), is: ["transferring", "receive 2 0 new"])
      if !isEmpty { _ = script.deliver(2, 70) }
      check(script.end(2), is: ["publishing", "publish \(isEmpty ? 0 : 70)"])
    }
  }

  @Test func `It is asked before the name is taken, and before an existing file counts`() throws {
    var named = try started { $0.learnsName = true }
    check(try named.answer(1, 200, Self.page), is: ["drop 1", "open 1 whole at a.example"])
    check(try named.whole(1), is: ["bind 1"])
    var existing = try started(
      .init(existing: [.init(path: "f", size: 0, modified: 0)], needsExisting: true))
    check(try existing.whole(1, length: 0), is: ["drop 1", "open 1 whole at a.example"])
  }

  @Test
  func `A page that the address names, and a range of a page, cost no further request`() throws {
    var script = try MachineScript()
    _ = script.start()
    check(try script.answer(1, 200, Self.page), is: ["transferring", "receive 1 0 new"])
    var ranged = try started()
    let fields = ["Content-Type: text/html", "Content-Range: bytes 0-3/4"]
    check(try ranged.answer(1, 206, fields), is: ["transferring", "receive 1 0 new"])
  }
}
