import HaulCore
import Testing

/// Failures of a download: attempts, learned limits, ends.
@Suite
struct DownloadMachineFailureTests {
  @Test(arguments: [403, 429, 503])
  func `A refused additional connection lowers the limit and counts no attempt`(status: Int) throws
  {
    var script = try MachineScript.withTwo()
    check(try script.answer(2, status), is: ["drop 2", "limit", "release"])
    check(script.send(.tick), is: ["settled 1 refused"])
    check(script.send(.tick), is: [])
  }

  @Test
  func `A reset before the answer does the same; a requested pause is for the whole host`() throws {
    var script = try MachineScript.withTwo()
    check(script.lose(2), is: ["limit", "release"])
    var other = try MachineScript.withTwo()
    check(
      try other.answer(2, 429, ["Retry-After: 7"]),
      is: ["drop 2", "limit", "pause host 7", "release"])
  }

  @Test
  func `A reset while the delivering connection is between two ranges counts no attempt`() throws {
    var script = try MachineScript.withTwo(upTo: 50)
    script.write(1, 50)
    check(script.end(1), is: ["open 3 76-99 if"])
    check(script.lose(2), is: ["limit", "release"])
  }

  @Test func `Failures of one wave count once`() throws {
    var script = try MachineScript.withTwo()
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    check(script.lose(1), is: ["wake retry", "attempt 1", "release"])
    check(script.lose(2), is: ["leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
  }

  @Test func `A failure of an earlier wave counts if nothing else continues`() throws {
    var script = try MachineScript.withTwo {
      $0.request.connections = 2
      $0.request.minimumSplit = 30
    }
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    check(script.lose(1), is: ["wake retry", "attempt 1", "release"])
    check(script.send(.timer(.retry)), is: ["request"])
    check(script.send(.connectionGranted), is: ["open 3 1-50 if"])
    _ = try script.range(3, 1, 50)
    script.write(3, 50)
    check(script.end(3), is: ["release"])
    let commands = script.lose(2)
    #expect(commands.suffix(3) == ["wake retry", "attempt 1", "leave"], "\(commands)")
  }

  @Test func `A delay gives the slot back and requests it again`() throws {
    var script = try MachineScript.running { $0.request.connections = 1 }
    check(script.lose(1), is: ["wake retry", "attempt 1", "leave"])
    check(script.send(.tick), is: [])
    check(script.send(.timer(.retry)), is: ["enter"])
    check(script.send(.tick), is: [])
    check(script.send(.slotGranted), is: ["open 2 1-99 if"])
  }

  @Test func `A connection that is granted after the slot was given back is not used`() throws {
    var script = try MachineScript.running()
    check(script.lose(1), is: ["wake retry", "attempt 1", "leave"])
    check(script.send(.connectionGranted), is: [])
    check(script.send(.timer(.retry)), is: ["enter"])
  }

  @Test func `A refused connection is requested again with the next tick`() throws {
    var script = try MachineScript.running { $0.request.connections = 2 }
    check(script.send(.tick), is: ["request"])
  }

  @Test func `A permanent error ends the download`() throws {
    for (status, code) in [(404, "not-found"), (401, "unauthorized"), (403, "forbidden")] {
      var script = try MachineScript { $0.request.decodesContent = true }
      _ = script.start()
      check(try script.answer(1, status), is: ["drop 1", "failed \(code)"])
    }
  }

  @Test func `Attempts run out`() throws {
    var script = try MachineScript { $0.request.retry.retries = 1 }
    _ = script.start()
    check(
      try script.answer(1, 500), is: ["drop 1", "wake retry", "attempt 1", "leave"])
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 2 0-"])
    check(try script.answer(2, 500), is: ["drop 2", "open 3 whole"])
    check(try script.answer(3, 500), is: ["drop 3", "failed http-status"])
  }

  @Test(arguments: [401, 403, 404, 410])
  func `An expired link is resolved again once, then a new one is needed`(status: Int) throws {
    let elsewhere = "http://b.example/signed"
    var script = try MachineScript { $0.request.headers.append("Cookie", "secret") }
    check(script.start(), is: ["connecting", "open 1 0- with cookie"])
    _ = try script.range(1, 0, 99, from: elsewhere)
    check(script.deliver(1), is: ["request"])
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    check(script.send(.slotGranted), is: ["open 2 1-99 if at b.example"])
    check(try script.answer(2, status), is: ["drop 2", "open 2 1-99 if with cookie"])
    check(
      try script.answer(2, status, from: elsewhere), is: ["drop 2", "failed needs-new-url"])
  }

  @Test(arguments: [
    (
      "http://a.example/f",
      "the server answered 403 (at http://b.example/x), also to a new redirect"
    ),
    ("http://a.example/f?token=1", "the link has expired (403)"),
  ])
  func `A resume refused after a fresh redirect says so; only a signed address has expired`(
    given: String, fact: String
  ) throws {
    let url = try ResourceURL(given)
    var script = try MachineScript(received: [0..<50], length: 100) { $0.request.url = url }
    _ = script.resume(tag: "\"v1\"", length: 100)
    let redirected = "http://b.example/x"
    check(
      try script.answer(1, 403, from: redirected).count, is: 2)
    let failure = try script.failure(1, 403, from: redirected)
    #expect(failure?.code == .needsNewURL)
    #expect(failure?.fact == fact)
  }

  @Test
  func `An additional connection whose link expired asks the first address; no limit is learned`()
    throws
  {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, from: "http://b.example/f?sig=1")
    _ = script.deliver(1)
    check(script.send(.connectionGranted), is: ["open 2 51-99 if at b.example?sig=1"])
    check(try script.answer(2, 403), is: ["drop 2", "open 2 51-99 if"])
    check(try script.range(2, 51, 99, from: "http://b.example/f?sig=2"), is: ["receive 2 51"])
    check(script.deliver(2), is: ["request", "request"])
    // The others use the address of the fresh link.
    check(script.send(.connectionGranted), is: ["open 3 26-50 if at b.example?sig=2", "request"])
  }

  @Test func `A fresh link to another resource is not used beside a working connection`() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, from: "http://b.example/f")
    _ = script.deliver(1)
    _ = script.send(.connectionGranted)
    _ = try script.answer(2, 403)
    check(
      try script.range(2, 51, 99, from: "http://c.example/f"), is: ["drop 2", "refused", "release"])
    script.write(1, 99)
    check(script.end(1), is: ["publishing", "publish 100"])
  }

  @Test func `A fresh link that answers 403 beside a working connection means a limit`() throws {
    let elsewhere = "http://b.example/signed"
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, from: elsewhere)
    _ = script.deliver(1)
    _ = script.send(.connectionGranted)
    check(try script.answer(2, 403), is: ["drop 2", "open 2 51-99 if"])
    check(try script.answer(2, 403, from: elsewhere), is: ["drop 2", "limit", "release"])
    check(script.send(.tick), is: ["settled 1 refused"])
  }

  @Test(arguments: [401, 404])
  func `A redirected address that never worked fails with its own code`(status: Int) throws {
    var script = try MachineScript()
    _ = script.start()
    let code = status == 401 ? "unauthorized" : "not-found"
    if status == 404 {
      check(
        try script.answer(1, status, from: "http://b.example/x"), is: ["drop 1", "open 1 whole"])
    }
    check(
      try script.answer(1, status, from: "http://b.example/x"), is: ["drop 1", "failed \(code)"])
  }

  @Test func `A 416 beside a working connection leaves its range to that one`() throws {
    var script = try MachineScript.withTwo()
    check(
      try script.answer(2, 416, ["Content-Range: bytes */100", "ETag: \"v1\""]),
      is: ["drop 2", "refused", "release"])
    script.write(1, 98)
    let isLast = script.write(1, 1)
    #expect(isLast, "the first downloads the rest")
    check(script.end(1), is: ["publishing", "publish 100"])
  }

  @Test func `If a host serves only other transfers, it waits without an attempt`() throws {
    var script = try MachineScript()
    script.surroundings.hostServesOthers = true
    _ = script.start()
    check(
      try script.answer(1, 429, ["Retry-After: 1"]),
      is: ["drop 1", "limit", "pause host 1", "wake retry", "leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
    check(script.send(.slotGranted), is: ["open 2 0-"])
  }

  @Test(arguments: ["0", "Thu, 01 Jan 1970 00:00:00 GMT"])
  func `A Retry-After that is over at once pauses no host`(value: String) throws {
    var script = try MachineScript()
    _ = script.start()
    let commands = try script.answer(1, 503, ["Retry-After: \(value)"])
    #expect(commands.contains("wake retry"))
    #expect(!commands.contains { $0.hasPrefix("pause host") }, "\(commands)")
  }

  @Test func `Between two ranges it waits for a pause of the host without the slot`() throws {
    var script = try MachineScript.withTwo()
    check(
      try script.answer(2, 503, ["Retry-After: 1"]),
      is: ["drop 2", "limit", "pause host 1", "release"])
    // The first stops earlier: the range of the second is left.
    script.surroundings.isHostPaused = true
    check(script.stopped(1), is: ["leave", "enter"])
    check(script.send(.tick), is: [])
    script.surroundings.isHostPaused = false
    check(script.send(.slotGranted), is: ["open 3 1-99 if"])
  }

  @Test func `During a pause of the host, a working connection gets no others`() throws {
    var script = try MachineScript.withTwo()
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    script.surroundings.isHostPaused = true
    #expect(!script.stopped(2).contains { $0.hasPrefix("open") })
    // Otherwise a waiting request would hold the slot.
    check(script.stopped(1), is: ["leave", "enter"])
  }

  @Test func `A body without an announced end that ends too early is a failure`() throws {
    var script = try MachineScript(received: [0..<40], length: 100)
    _ = script.resume(tag: "\"v1\"", length: 100)
    _ = try script.whole(1, length: nil)
    check(try script.whole(1, length: nil), is: ["transferring", "receive 1 0"])
    _ = script.deliver(1, 50)
    check(script.end(1), is: ["wake retry", "attempt 1", "leave"])
  }

  @Test func `A connection under 1 KiB/s for a minute is dropped; others are not`() throws {
    var script = try MachineScript { $0.request.connections = 1 }
    _ = script.start()
    _ = try script.range(1, 0, 999_999, of: 1_000_000)
    _ = script.deliver(1)
    check(script.send(.tick), is: [])
    script.now = script.now + .seconds(59)
    script.write(1, 59 << 10)
    check(script.send(.tick), is: [])
    var fast = script
    script.now = script.now + .seconds(1)
    check(script.send(.tick), is: ["stop 1"])
    check(script.stopped(1), is: ["wake retry", "attempt 1", "leave"])
    fast.write(1, 2 << 10)
    fast.now = fast.now + .seconds(1)
    check(fast.send(.tick), is: [])
  }

  @Test func `A disk error stops everything, then fails`() throws {
    var script = try MachineScript.withTwo()
    check(script.send(.diskFailed(TransferError(.diskFull, "full"))), is: ["stop 1", "stop 2"])
    check(script.send(.pause), is: ["stop 1", "stop 2"])
    check(script.stopped(2), is: [])
    check(script.end(1), is: ["failed disk-full"])
  }
}

/// A download pauses at any point, once everything has stopped.
@Suite
struct DownloadMachinePauseTests {
  @Test func `Before an answer; a late answer is released`() throws {
    var script = try MachineScript()
    _ = script.start()
    check(script.send(.pause), is: ["stop 1"])
    check(try script.range(1, 0, 99), is: ["drop 1", "paused"])
    check(script.stopped(1), is: [])
  }

  @Test func `While bytes arrive, over several connections`() throws {
    var script = try MachineScript.withTwo()
    check(script.send(.pause), is: ["stop 1", "stop 2"])
    check(script.lose(1), is: [])
    check(script.stopped(2), is: ["paused"])
  }

  @Test func `During a delay, while waiting for a slot, and before a change is confirmed`() throws {
    var delayed = try MachineScript.running()
    _ = delayed.lose(1)
    var queued = delayed
    check(delayed.send(.pause), is: ["paused"])
    check(delayed.send(.timer(.retry)), is: [])
    _ = queued.send(.timer(.retry))
    check(queued.send(.pause), is: ["paused"])
    check(queued.send(.slotGranted), is: [])
    var changed = try MachineScript(received: [0..<50], length: 100)
    _ = changed.resume(tag: "\"v1\"", length: 100)
    _ = try changed.answer(1, 416)
    check(changed.send(.pause), is: ["paused"])
  }

  @Test func `At once if a stream only waits for its reader, which may never return`() throws {
    var script = try MachineScript { $0.request.destination = .stream }
    _ = script.start()
    _ = try script.range(1, 0, 99)
    _ = script.deliver(1, 100)
    check(script.end(1), is: ["publishing", "publish 100"])
    check(script.send(.pause), is: ["paused"])
    check(script.send(.published(nil)), is: [])
  }

  @Test
  func `During verification, when it returns; a publication that has begun is finished`() throws {
    let checksum = try #require(Checksum("crc32c=00000000"))
    var script = try MachineScript(received: [0..<9], length: 9) {
      $0.request.checksums = [checksum]
    }
    _ = script.resume(tag: nil, length: 9)
    var publishing = script
    check(script.send(.pause), is: [])
    check(script.send(.verified(TransferError(.interrupted, "stopped"))), is: ["paused"])
    _ = publishing.send(.verified(nil))
    check(publishing.send(.pause), is: [])
    check(publishing.send(.published(nil)), is: ["completed checksum"])
  }
}
