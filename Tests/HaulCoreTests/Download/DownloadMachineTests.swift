import HaulCore
import Testing

/// A download requests, accepts and ends.
@Suite
struct DownloadMachineTests {
  @Test
  func `The first segment is the probe; connections grow 1, 2, 4, each time once all delivered`()
    throws
  {
    var script = try MachineScript { $0.request.connections = 4 }
    check(script.start(), is: ["connecting", "open 1 0-"])
    check(try script.range(1, 0, 99), is: ["transferring", "receive 1 0 new"])
    check(script.deliver(1), is: ["request"])
    check(script.send(.connectionGranted), is: ["open 2 51-99 if"])
    check(try script.range(2, 51, 99), is: ["receive 2 51"])
    check(script.deliver(2), is: ["request", "request"])
    check(script.send(.connectionGranted), is: ["open 3 26-50 if", "request"])
    check(script.send(.connectionGranted), is: ["open 4 76-99 if"])
  }

  @Test func `Without a slot nothing is requested`() throws {
    var script = try MachineScript()
    check(script.send(.tick), is: [])
    check(script.send(.windowMoved), is: [])
    check(script.start(), is: ["connecting", "open 1 0-"])
  }

  @Test func `A complete file on disk is verified by its length and published once`() throws {
    var script = try MachineScript.running { $0.request.connections = 1 }
    check(script.write(1, 99), is: true)
    check(script.end(1), is: ["publishing", "publish 100"])
    check(script.send(.published(nil)), is: ["completed length"])
    check(script.end(1), is: [])
    check(script.send(.tick), is: [])
  }

  @Test func `A segment that reaches its lowered end gives its connection to the rest`() throws {
    var script = try MachineScript.withTwo { $0.request.connections = 2 }
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    check(script.write(1, 50), is: true)
    check(script.end(1), is: ["open 3 76-99 if"])
  }

  @Test func `A checksum is verified before publication`() throws {
    let checksum = try #require(Checksum("crc32c=00000000"))
    var script = try MachineScript.running {
      $0.request.connections = 1
      $0.request.checksums = [checksum]
    }
    script.write(1, 99)
    check(script.end(1), is: ["verifying", "verify"])
    var other = script
    check(
      other.send(.verified(TransferError(.checksumMismatch, "not it"))),
      is: ["failed checksum-mismatch"])
    check(script.send(.verified(nil)), is: ["publishing", "publish 100"])
    check(script.send(.published(nil)), is: ["completed checksum"])
  }

  @Test func `An empty file begins and is published without a body`() throws {
    var ranged = try MachineScript()
    _ = ranged.start()
    check(
      try ranged.answer(1, 416, ["Content-Range: bytes */0"]), is: ["drop 1", "open 1 whole"])
    check(try ranged.whole(1, length: 0), is: ["drop 1", "begin", "publishing", "publish 0"])
    var plain = try MachineScript { $0.request.decodesContent = true }
    _ = plain.start()
    check(try plain.whole(1, length: 0), is: ["drop 1", "begin", "publishing", "publish 0"])
  }

  @Test func `A 200 to a range is read whole, on one connection`() throws {
    var script = try MachineScript()
    _ = script.start()
    check(try script.whole(1), is: ["transferring", "receive 1 0 new"])
    check(script.deliver(1), is: [])
  }

  @Test func `The end of a chunked body is the length, verified by the framing`() throws {
    var script = try MachineScript()
    _ = script.start()
    check(try script.whole(1, length: nil), is: ["transferring", "receive 1 0 new"])
    _ = script.deliver(1, 70)
    check(script.end(1), is: ["publishing", "publish 70"])
    check(script.send(.published(nil)), is: ["completed framing"])
  }

  @Test
  func `A range at the wrong offset is not written; the request is repeated without a range`()
    throws
  {
    var script = try MachineScript()
    _ = script.start()
    check(try script.range(1, 10, 99), is: ["drop 1", "open 1 whole"])
    check(try script.whole(1), is: ["transferring", "receive 1 0 new"])
  }

  @Test func `Wrong ranges on two additional connections do not affect the first`() throws {
    var script = try MachineScript.withTwo { $0.request.connections = 4 }
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    _ = script.send(.connectionGranted)
    _ = script.send(.connectionGranted)
    check(try script.range(3, 0, 9), is: ["drop 3", "refused", "release"])
    check(try script.range(4, 0, 9), is: ["drop 4", "refused", "release"])
    #expect(script.plan.segments.keys.sorted().map(\.number) == [1, 2])
  }

  @Test
  func `After 416 to the whole file it asks without a range, and fails after a second 416`() throws
  {
    var script = try MachineScript()
    _ = script.start()
    check(try script.answer(1, 416), is: ["drop 1", "open 1 whole"])
    check(try script.answer(1, 416), is: ["drop 1", "failed protocol-violation"])
  }

  @Test
  func `An existing file with length and date is accepted; another one is a conflict`() throws {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let files: [(size: Int64, modified: Double, wanted: String)] = [
      (100, 784_111_777.4, "already there"), (99, 784_111_777.4, "failed name-conflict"),
      (100, 784_111_778, "failed name-conflict"),
    ]
    for (size, modified, wanted) in files {
      var script = try MachineScript()
      _ = script.start(
        .init(
          existing: [.init(path: "f", size: size, modified: modified)], needsExisting: true))
      let fields = ["Content-Range: bytes 0-99/100", "Last-Modified: \(date)"]
      check(try script.answer(1, 206, fields), is: ["drop 1", wanted])
    }
    var script = try MachineScript()
    let other = DownloadMachine.Found(existing: [.init(path: "f", size: 99, modified: 0)])
    check(script.start(other), is: ["connecting", "open 1 0-0"])
    // One byte showed that it is another file: now the whole file is requested.
    check(try script.range(1, 0, 0), is: ["drop 1", "open 1 0-"])
    check(try script.range(1, 0, 99), is: ["transferring", "receive 1 0 new"])
  }

  @Test
  func `An unconfirmed copy of a cache replaces no existing file: the server is asked, once`()
    throws
  {
    func answer(
      _ script: inout MachineScript, _ size: Int, _ use: CacheUse
    ) throws -> (commands: [String], asksServer: Bool?) {
      var head = ResponseHead(
        status: 200,
        headers: [
          "Content-Length": "\(size)", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
        ], url: try ResourceURL(MachineScript.address))
      head.cacheUse = use
      let commands = script.send(
        .responded(SegmentID(number: 1), head, isFromOtherAddress: false, wallSeconds: 0))
      return (commands, script.machine.needsConfirmation)
    }
    for (size, use, asks) in [
      (99, CacheUse.hit, false), (100, .hit, true), (100, .revalidated, false), (100, .miss, false),
    ] {
      var script = try MachineScript()
      _ = script.start(.init(existing: [.init(path: "f", size: 99, modified: 784_111_777)]))
      let first = try answer(&script, size, use)
      #expect(first.asksServer == asks, "\(size) \(use)")
      #expect(first.commands.contains { $0.hasPrefix("open") } == asks, "\(first.commands)")
      if asks {
        let second = try answer(&script, size, .revalidated)
        #expect(second.commands.contains { $0.hasPrefix("receive") }, "\(second.commands)")
      }
    }
    var none = try MachineScript()
    _ = none.start()
    #expect(try answer(&none, 100, .hit).asksServer == false)
    // A file that was not compared will be replaced.
    var replacing = try MachineScript()
    _ = replacing.start(.init(needsConfirmation: true))
    #expect(try answer(&replacing, 100, .hit).commands.contains { $0.hasPrefix("open") })
  }

  @Test
  func `A file that came from a fresh copy, or later, is up to date; an older one is not`() throws {
    for (modified, size, isOwn, isThere) in [
      (1000.0, 100, true, true), (999, 100, true, false), (1000, 99, true, false),
      (1000, 100, false, false),
    ] {
      var script = try MachineScript()
      _ = script.start(
        .init(
          existing: [.init(path: "f", size: Int64(size), modified: modified, isOwn: isOwn)]))
      var head = ResponseHead(
        status: 200, headers: ["Content-Length": "100"],
        url: try ResourceURL(MachineScript.address))
      (head.cacheUse, head.copiedAt) = (.hit, 1000)
      let commands = script.send(
        .responded(SegmentID(number: 1), head, isFromOtherAddress: false, wallSeconds: 0))
      check(commands, is: isThere ? ["drop 1", "already there"] : ["drop 1", "open 1 0-0"])
    }
  }

  @Test func `Once the file has changed, a cache must ask the server before it answers`() throws {
    var script = try MachineScript(received: [0..<50], length: 100)
    #expect(!script.machine.needsConfirmation)
    _ = script.resume(tag: "\"v1\"", length: 100)
    _ = try script.range(1, 50, 99, tag: "\"v2\"")
    #expect(script.machine.needsConfirmation)
  }

  @Test func `An existing empty file is accepted, even without a date`() throws {
    for (size, wanted) in [(Int64(0), "already there"), (1, "failed name-conflict")] {
      var script = try MachineScript()
      _ = script.start(
        .init(
          existing: [.init(path: "f", size: size, modified: 784_111_777)], needsExisting: true))
      // Some servers answer so to any range.
      check(
        try script.answer(1, 416, ["Content-Range: bytes */0"]), is: ["drop 1", "open 1 whole"])
      check(try script.answer(1, 200, ["Content-Length: 0"]), is: ["drop 1", wanted])
    }
  }

  @Test(
    arguments: [
      ("\"v1\"", "\"v1\"", 100, true), ("W/\"v1\"", "\"v1\"", 100, true),
      ("\"v0\"", "\"v1\"", 100, false), (nil, "\"v1\"", 100, false),
      ("\"v1\"", "\"v1\"", 99, false),
    ] as [(String?, String, Int64, Bool)])
  func `Without a date, an existing file with the same tag is accepted, weak or not`(
    ours: String?, tag: String, size: Int64, isThere: Bool
  ) throws {
    var script = try MachineScript()
    _ = script.start(
      .init(existing: [.init(path: "f", size: size, modified: 1, entityTag: ours)]))
    check(
      try script.range(1, 0, 0, tag: tag),
      is: isThere ? ["drop 1", "already there"] : ["drop 1", "open 1 0-"])
  }

  @Test func `A file above the maximum size is refused before its body`() throws {
    var script = try MachineScript { $0.request.maximumSize = 99 }
    _ = script.start()
    check(try script.range(1, 0, 99), is: ["drop 1", "failed too-large"])
  }
}

/// A download resumes from bytes of an earlier run.
@Suite
struct ResumedDownloadTests {
  @Test func `With a strong tag it resumes at the first gap, with If-Range`() throws {
    var script = try MachineScript(received: [0..<40], length: 100)
    check(script.resume(tag: "\"v1\"", length: 100), is: ["connecting", "open 1 40-99 if"])
    check(try script.range(1, 40, 99), is: ["transferring", "receive 1 40"])
  }

  @Test func `With a weak tag the file starts over`() throws {
    var script = try MachineScript(received: [0..<40], length: 100)
    check(
      script.resume(tag: "W/\"v1\"", length: 100), is: ["restarted", "connecting", "open 1 0-"])
    #expect(script.plan.receivedCount == 0)
  }

  @Test func `A complete file is published at once`() throws {
    var script = try MachineScript(received: [0..<100], length: 100)
    check(script.resume(tag: "\"v1\"", length: 100), is: ["publishing", "publish 100"])
  }

  @Test
  func `An unknown length is learned from the answer, not from the end of a short range`() throws {
    var script = try MachineScript(received: [0..<40])
    check(script.resume(tag: "\"v1\"", length: nil), is: ["connecting", "open 1 40- if"])
    check(try script.range(1, 40, 79), is: ["transferring", "receive 1 40"])
    _ = script.deliver(1, 40)
    check(script.end(1), is: ["open 2 80-99 if", "request"])
  }
}
