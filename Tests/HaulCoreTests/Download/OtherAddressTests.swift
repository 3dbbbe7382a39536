import HaulCore
import Testing

/// Bytes of an earlier run, from this address or another.
@Suite
struct OtherAddressMachineTests {
  private let digest = Checksum("crc32c=00000000")
  private static let announced =
    "Repr-Digest: sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"
  private let range = ["Content-Range: bytes 40-99/100", "Content-Length: 60"]

  private func script(
    _ received: ByteRange = 0..<40, _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    try MachineScript(received: [received], length: 100, change)
  }

  @Test func `Of another address they do not count, even with equal tag and length`() throws {
    var script = try script { $0.request.allowUnverified = true }
    check(
      script.resume(tag: "\"v1\"", length: 100, elsewhere: true),
      is: ["restarted", "connecting", "open 1 0-"])
    check(try script.range(1, 0, 99), is: ["transferring", "receive 1 0 new"])
  }

  @Test
  func `A complete file of another address does not count: the server would not be asked`() throws {
    var script = try script(0..<100) { $0.request.resumesFromOtherURL = true }
    check(
      script.resume(tag: "\"v1\"", length: 100, elsewhere: true),
      is: ["failed changed-on-server"])
  }

  @Test func `With the user's option they count if length and strong tag are equal`() throws {
    var script = try script { $0.request.resumesFromOtherURL = true }
    check(
      script.resume(tag: "\"v1\"", length: 100, elsewhere: true),
      is: ["connecting", "open 1 40-99"])
    var other = script
    check(try script.range(1, 40, 99), is: ["transferring", "receive 1 40"])
    check(
      try other.range(1, 40, 99, tag: "\"v2\""), is: ["drop 1", "failed changed-on-server"])
    #expect(other.plan.receivedCount == 40, "they are not discarded without a word")
  }

  @Test func `The user's option does not make a weak tag strong`() throws {
    var script = try script { $0.request.resumesFromOtherURL = true }
    check(
      script.resume(tag: "W/\"v1\"", length: 100, elsewhere: true),
      is: ["failed changed-on-server"])
  }

  @Test func `Nor does a date beside a weak tag, which says that the bytes may differ`() throws {
    var script = try script { $0.request.resumesFromOtherURL = true }
    let date = "Wed, 01 Jan 2025 00:00:00 GMT"
    check(
      script.resume(tag: "W/\"v1\"", date: date, length: 100, elsewhere: true),
      is: ["connecting", "open 1 40-99"])
    check(
      try script.answer(1, 206, range + ["ETag: W/\"v1\"", "Last-Modified: \(date)"]),
      is: ["drop 1", "failed changed-on-server"])
  }

  @Test
  func `With a digest of the user they count, whatever the tag, and are recorded as unproved`()
    throws
  {
    var script = try script { $0.request.checksums = [digest].compactMap { $0 } }
    check(
      script.resume(tag: "\"v1\"", length: 100, elsewhere: true),
      is: ["connecting", "open 1 40-99"])
    check(
      try script.range(1, 40, 99, tag: "\"v2\""),
      is: ["unproved", "transferring", "receive 1 40"])
    _ = script.deliver(1, 60)
    check(script.end(1), is: ["verifying", "verify"])
    var wrong = script
    check(script.send(.verified(nil)), is: ["publishing", "publish 100"])
    // The bytes of the other address were wrong: the whole file is downloaded from this one, once.
    let mismatch = TransferError(.checksumMismatch, "it is another")
    check(wrong.send(.verified(mismatch)), is: ["restarted", "open 2 0-"])
    check(try wrong.range(2, 0, 99), is: ["transferring", "receive 2 0 new"])
    _ = wrong.deliver(2, 100)
    check(wrong.end(2), is: ["verifying", "verify"])
    check(wrong.send(.verified(mismatch)), is: ["failed checksum-mismatch"])
  }

  @Test func `Not with a digest if the length differs`() throws {
    var script = try script { $0.request.checksums = [digest].compactMap { $0 } }
    _ = script.resume(tag: "\"v1\"", length: 100, elsewhere: true)
    check(
      try script.answer(1, 206, ["Content-Range: bytes 40-98/99", "ETag: \"v1\""]),
      is: ["drop 1", "restarted", "open 2 0-"])
  }

  @Test func `With a digest that both answers announce they count`() throws {
    for (fields, wanted) in [
      ([Self.announced], ["unproved", "transferring", "receive 1 40"]),
      ([], ["drop 1", "restarted", "open 2 0-"]),
      (
        ["Repr-Digest: sha-256=:BBBBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"],
        ["drop 1", "restarted", "open 2 0-"]
      ),
    ] {
      var script = try script()
      let digest = Checksum("sha-256=" + String(repeating: "0", count: 64))
      check(
        script.resume(tag: "\"v1\"", length: 100, elsewhere: true, announced: digest),
        is: ["connecting", "open 1 40-99"])
      check(try script.answer(1, 206, range + ["ETag: \"v1\""] + fields), is: wanted)
    }
  }

  @Test func `Bytes that only a digest proves do not count by their tag`() throws {
    var script = try script()
    check(
      script.resume(tag: "\"v1\"", length: 100, mayMixVersions: true),
      is: ["restarted", "connecting", "open 1 0-"])
  }

  @Test
  func `An answer without a tag, joined because of a digest, is recorded as unproved`() throws {
    var script = try MachineScript.withTwo { $0.request.checksums = [digest].compactMap { $0 } }
    check(
      try script.answer(2, 206, ["Content-Range: bytes 51-99/100"]),
      is: ["unproved", "receive 2 51"])
  }

  @Test func `416 from another address says nothing about the bytes on disk`() throws {
    var script = try MachineScript(received: [0..<40]) {
      $0.request.checksums = [digest].compactMap { $0 }
    }
    _ = script.resume(tag: "\"v1\"", length: nil, elsewhere: true)
    check(
      try script.answer(1, 416, ["Content-Range: bytes */40", "ETag: \"v1\""]),
      is: ["drop 1", "restarted", "open 2 0-"])
  }

  @Test func `A refusal by the other address keeps the bytes`() throws {
    var script = try script { $0.request.resumesFromOtherURL = true }
    _ = script.resume(tag: "\"v1\"", length: 100, elsewhere: true)
    check(try script.answer(1, 404), is: ["drop 1", "open 1 whole"])
    check(try script.answer(1, 404), is: ["drop 1", "failed not-found"])
    #expect(!script.machine.hasBytesOfThisRun)
  }
}

/// Bytes of an earlier run, if redirects now lead elsewhere.
@Suite
struct OtherLocationTests {
  private static let mirror = "http://mirror.example/f"

  private func resumed(
    from location: String? = nil, _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    var script = try MachineScript(received: [0..<40], length: 100, change)
    _ = script.resume(
      tag: "\"v1\"", length: 100, location: try location.map { try ResourceURL($0) })
    return script
  }

  private func answer(
    _ script: inout MachineScript, _ id: Int, tag: String = "\"v1\"",
    isFromOtherAddress: Bool = true
  ) throws -> [String] {
    try script.answer(
      id, 206, ["Content-Range: bytes 40-99/100", "ETag: \(tag)"], from: "http://other.example/f",
      isFromOtherAddress: isFromOtherAddress)
  }

  @Test func `They do not count by a tag of the other resource`() throws {
    var script = try resumed()
    check(try answer(&script, 1), is: ["drop 1", "restarted", "open 2 0-"])
  }

  @Test
  func `The original location is asked for the rest if the other one looks the same`() throws {
    var script = try resumed(from: Self.mirror)
    check(try answer(&script, 1), is: ["drop 1", "open 1 40-99 if at mirror.example"])
    check(
      try script.range(1, 40, 99, from: Self.mirror), is: ["transferring", "receive 1 40"])
  }

  @Test func `Not if the other one has another version`() throws {
    var script = try resumed(from: Self.mirror)
    check(
      try answer(&script, 1, tag: "\"v2\""),
      is: ["drop 1", "restarted", "open 2 0-"])
  }

  @Test(arguments: [404, 503])
  func `If that location is gone, the address is asked again, once`(status: Int) throws {
    var script = try resumed(from: Self.mirror)
    _ = try answer(&script, 1)
    check(try script.answer(1, status, from: Self.mirror), is: ["drop 1", "open 1 40-99 if"])
    check(try answer(&script, 1), is: ["drop 1", "restarted", "open 2 0-"])
  }

  @Test func `Within a run, a link to another resource starts over; a second one fails`() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, from: Self.mirror)
    _ = script.deliver(1, 40)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    _ = script.send(.slotGranted)
    check(
      try script.answer(2, 403, from: Self.mirror), is: ["drop 2", "open 2 40-99 if"])
    check(try answer(&script, 2), is: ["drop 2", "restarted", "open 3 0-"])
  }

  @Test func `Another signature of the same link is the same resource`() throws {
    var script = try MachineScript()
    _ = script.start()
    _ = try script.range(1, 0, 99, from: Self.mirror + "?sig=1")
    _ = script.deliver(1, 40)
    _ = script.lose(1)
    _ = script.send(.timer(.retry))
    _ = script.send(.slotGranted)
    _ = try script.answer(2, 403, from: Self.mirror + "?sig=1")
    check(
      try script.range(2, 40, 99, from: Self.mirror + "?sig=2"),
      is: ["receive 2 40"])
  }
}

/// Bytes of an earlier run that are compared.
@Suite
struct ComparedBytesTests {
  @Test func `Each range is compared, one after the other; the file is unverified then`() throws {
    var script = try MachineScript(received: [0..<40], length: 100) {
      $0.request.allowUnverified = true
    }
    check(
      script.resume(tag: nil, length: 100, comparisonRanges: [0..<10, 30..<40]),
      is: ["connecting", "open 1 0-9"])
    check(try script.range(1, 0, 9, tag: nil), is: ["compare 1 0-9"])
    var other = script
    check(script.send(.compared(SegmentID(number: 1), isSame: true)), is: ["open 1 30-39"])
    check(try script.range(1, 30, 39, tag: nil), is: ["compare 1 30-39"])
    check(
      script.send(.compared(SegmentID(number: 1), isSame: true)), is: ["unproved", "open 1 40-99"])
    check(try script.range(1, 40, 99, tag: nil), is: ["transferring", "receive 1 40"])
    _ = script.deliver(1, 60)
    check(script.end(1), is: ["publishing", "publish 100"])
    check(script.send(.published(nil)), is: ["completed unverified"])
    check(
      other.send(.compared(SegmentID(number: 1), isSame: false)), is: ["restarted", "open 2 0-"])
  }

  @Test(arguments: ["\"67748580-64\"", nil])
  func `A tag of date and length proves less: bytes are compared, and then count as before`(
    tag: String?
  ) throws {
    let date = "Wed, 01 Jan 2025 00:00:00 GMT"
    var script = try MachineScript(received: [0..<40], length: 100)
    let ranges: [ByteRange] = [0..<2, 20..<22, 36..<38]
    check(
      script.resume(tag: tag, date: date, length: 100, comparisonRanges: ranges),
      is: ["connecting", "open 1 0-1"])
    for (start, next) in [(0, "20-21"), (20, "36-37"), (36, "40-99 if")] {
      check(
        try script.range(1, start, start + 1, tag: tag, date: date),
        is: ["compare 1 \(start)-\(start + 1)"])
      var other = script
      check(
        other.send(.compared(SegmentID(number: 1), isSame: false)),
        is: ["restarted", "open 2 0-"])
      check(
        script.send(.compared(SegmentID(number: 1), isSame: true)), is: ["open 1 \(next)"])
    }
    check(
      try script.range(1, 40, 99, tag: tag, date: date), is: ["transferring", "receive 1 40"])
    _ = script.deliver(1, 60)
    check(script.end(1), is: ["publishing", "publish 100"])
    check(script.send(.published(nil)), is: ["completed length"])
  }

  @Test(arguments: [(403, "forbidden"), (400, "http-status"), (404, "not-found")])
  func `Where a range from the first byte is refused, that byte is left out of the comparison`(
    status: Int, code: String
  ) throws {
    let (tag, date) = ("\"67748580-64\"", "Wed, 01 Jan 2025 00:00:00 GMT")
    var script = try MachineScript(received: [0..<40], length: 100)
    check(
      script.resume(tag: tag, date: date, length: 100, comparisonRanges: [0..<10, 30..<40]),
      is: ["connecting", "open 1 0-9"])
    check(try script.answer(1, status), is: ["drop 1", "open 1 1-9"])
    var refusing = script
    for (start, next) in [(1, "30-39"), (30, "40-99 if")] {
      let last = start < 10 ? 9 : 39
      check(
        try script.range(1, start, last, tag: tag, date: date), is: ["compare 1 \(start)-\(last)"])
      check(
        script.send(.compared(SegmentID(number: 1), isSame: true)), is: ["open 1 \(next)"])
    }
    // Without any comparison, the file begins anew once the server sends it, and not before.
    check(try refusing.answer(1, status), is: ["drop 1", "open 1 whole"])
    var denied = refusing
    check(try denied.answer(1, status), is: ["drop 1", "failed \(code)"])
    #expect(denied.plan.receivedCount == 40)
    let whole = ["Content-Length: 100", "ETag: \(tag)", "Last-Modified: \(date)"]
    check(try refusing.answer(1, 200, whole), is: ["drop 1", "restarted", "open 2 0-"])
    check(try refusing.answer(2, status), is: ["drop 2", "open 2 whole"])
    check(try refusing.answer(2, 200, whole), is: ["transferring", "receive 2 0 new"])
  }

  @Test(arguments: 0..<4)
  func `A login page in answer to a comparison fails, and keeps the bytes`(kind: Int) throws {
    let date = "Wed, 01 Jan 2025 00:00:00 GMT"
    let url = try ResourceURL("http://a.example/f.iso")
    var script = try MachineScript(received: [0..<40], length: 100) { $0.request.url = url }
    _ = script.resume(
      tag: "\"67748580-64\"", date: date, length: 100, comparisonRanges: [0..<10, 30..<40])
    let fields = [
      ["Content-Type: text/html; charset=utf-8", "Content-Length: 90"],
      ["Content-Length: 90"],
      ["ETag: \"67748580-3\"", "Last-Modified: \(date)", "Content-Length: 3"],
      ["ETag: \"67748580-0\"", "Last-Modified: \(date)", "Content-Length: 0"],
    ][kind]
    check(try script.answer(1, 200, fields), is: ["drop 1", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 2 0-9 at a.example"])
    var loggedIn = script
    check(try script.answer(2, 200, fields), is: ["drop 2", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 3 whole at a.example"])
    check(try script.answer(3, 200, fields), is: ["drop 3", "failed changed-on-server"])
    #expect(script.plan.receivedCount == 40)
    check(
      try loggedIn.range(2, 0, 9, tag: "\"67748580-64\"", date: date), is: ["compare 2 0-9"])
    check(
      loggedIn.send(.compared(SegmentID(number: 2), isSame: true)),
      is: ["open 2 30-39 at a.example"])
  }

  @Test func `Another version in answer to a comparison is confirmed like any other`() throws {
    let (tag, date) = ("\"67748580-64\"", "Wed, 01 Jan 2025 00:00:00 GMT")
    var script = try MachineScript(received: [0..<40], length: 100)
    _ = script.resume(tag: tag, date: date, length: 100, comparisonRanges: [0..<10])
    check(try script.range(1, 0, 9, tag: "\"v2\""), is: ["drop 1", "wake confirm 1"])
    check(script.send(.timer(.confirm)), is: ["open 2 0-9"])
    // One of many nodes had it.
    check(try script.range(2, 0, 9, tag: tag, date: date), is: ["compare 2 0-9"])
    check(
      script.send(.compared(SegmentID(number: 2), isSame: true)), is: ["open 2 40-99"])
    #expect(script.plan.receivedCount == 40)
  }

  @Test func `A server that ignores ranges now sends the file anew`() throws {
    let (tag, date) = ("\"67748580-64\"", "Wed, 01 Jan 2025 00:00:00 GMT")
    var script = try MachineScript(received: [0..<40], length: 100)
    _ = script.resume(tag: tag, date: date, length: 100, comparisonRanges: [0..<10])
    check(
      try script.answer(
        1, 200, ["Content-Length: 100", "ETag: \(tag)", "Last-Modified: \(date)"]),
      is: ["drop 1", "restarted", "open 2 0-"])
  }

  @Test func `If all ranges are zeros, nothing is compared, and no byte counts`() throws {
    var script = try MachineScript(received: [0..<40], length: 100) {
      $0.request.allowUnverified = true
    }
    check(
      script.resume(tag: nil, length: 100), is: ["restarted", "connecting", "open 1 0-"])
  }

  @Test func `Bytes of another address are not compared`() throws {
    var script = try MachineScript(received: [0..<40], length: 100) {
      $0.request.allowUnverified = true
    }
    check(
      script.resume(tag: nil, length: 100, elsewhere: true, comparisonRanges: [0..<10]),
      is: ["restarted", "connecting", "open 1 0-"])
  }

  @Test
  func `Ranges are the end of every range, the start of every segment, and sixteen in between`() {
    let received = ByteRangeSet([0..<(4 << 20), (8 << 20)..<(12 << 20)])
    let ranges = ComparisonRanges.candidates(
      in: received, segmentStarts: [0, 3 << 20, 8 << 20, 9 << 20 + 5])
    #expect(ranges.count >= 16)
    for offset in [0, 3 << 20, 8 << 20, 9 << 20 + 5, 4 << 20 - 1, 12 << 20 - 1] as [Int64] {
      #expect(ranges.contains { $0.contains(offset) }, "\(offset)")
    }
    #expect(ranges.allSatisfy { received.covers($0) && $0.length <= ComparisonRanges.length })
    #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
  }

  @Test func `A small file is compared as a whole`() {
    let received = ByteRangeSet([5..<1000, 2000..<2001])
    #expect(
      ComparisonRanges.candidates(in: received, segmentStarts: [5]) == [5..<1000, 2000..<2001])
  }
}
