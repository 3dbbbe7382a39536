import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// The lines of --json.
@Suite struct JSONEventTests {
  @Test func `every kind of event with every variant is valid by the published schema`() throws {
    let schema = try EventSchema()
    var lines = JSONLines()
    for kind in try Self.kinds() {
      let event = try EventMaker()(kind)
      let line = try lines.line(event, index: 1, wallSeconds: 1_800_000_000.25)
      #expect(try schema.violations(line: line) == [], "\(line)")
      #expect(line.hasSuffix("\n") && !line.dropLast().contains("\n"))
      #expect(!line.contains("s3cret"))
    }
    let line = try lines.line(.summary(RunCounts()), wallSeconds: 0)
    #expect(try schema.violations(line: line) == [])
  }

  static func kinds() throws -> [TransferEvent.Kind] {
    var kinds: [TransferEvent.Kind] = [.added(target: nil), .added(target: "/d/\u{85}x\n")]
    let phases: [TransferEvent.Phase] = [
      .connecting, .transferring, .verifying, .publishing, .restarted, .running,
    ]
    for phase in phases { kinds += [.phase(phase, reason: nil), .phase(phase, reason: "r")] }
    kinds += try waitReasons().map { .waiting($0) }
    for origin in [TransferEvent.Initiator.user, .signal, .disk, .network] {
      kinds += [.paused(by: origin), .resumed(by: origin)]
    }
    for (total, rate): (Int64?, Double) in [
      (nil, 0), (nil, 5), (100, 0), (100, 3.3), (5, 1), (.max, 1), (100, .infinity), (100, .nan),
      (100, -1), (.max, .leastNonzeroMagnitude),
    ] {
      let progress = TransferProgress(bytes: 10, total: total, rate: rate, connections: 3)
      kinds.append(.progress(progress))
    }
    for code in TransferError.Code.allCases {
      for status in [nil, 503] {
        let error = TransferError(code, "why", status: status, isRetryable: status != nil)
        kinds.append(.attempt(number: 1, error: error, delay: .milliseconds(1500)))
        kinds.append(.limited(connections: 2, error: error))
        kinds.append(.finished(TransferResult(state: .failed, error: error)))
      }
    }
    for reason in ConnectionChoice.Reason.allCases {
      kinds.append(.connections(ConnectionChoice(4, reason)))
      kinds.append(.connections(ConnectionChoice(1, reason, rate: 16_777_216.5)))
    }
    kinds.append(.finished(TransferResult(state: .cancelled)))
    for verified in [TransferResult.Verification.checksum, .length, .framing, .unverified] {
      for algorithm in Checksum.Algorithm.allCases {
        let bytes = [UInt8](repeating: 0xAB, count: algorithm.byteCount)
        let checksum: Checksum = try #require(Checksum(algorithm, bytes: bytes))
        let result = TransferResult(
          state: .completed, path: "/d/x", bytes: .max, fetched: 3, reused: 4,
          duration: .seconds(5), checksums: [checksum],
          verified: verified)
        kinds.append(.finished(result))
      }
    }
    return kinds
  }

  private static func waitReasons() throws -> [WaitReason] {
    let other = try #require(TransferID(bits: 1))
    return [
      .slot, .hostLimit, .hostRefusal(until: 1.5), .hostBackOff(until: 1_800_000_000),
      .hostOutage(until: nil),
      .hostOutage(until: -1), .retry(at: .infinity), .retry(at: 1.5),
      .dependency(other, isBlocked: true), .dependency(other, isBlocked: false),
      .diskFull(.init(device: .max, directory: "/d\u{1B}", needed: 0, free: nil)),
      .diskFull(.init(device: 1, directory: "/d", needed: 1 << 40, free: 12)),
      .directoryMissing("/d", foundDevice: nil), .directoryMissing("/d", foundDevice: 3), .offline,
      .schedule("closed", until: nil), .schedule("closed", until: 1_800_000_000), .suspended,
    ]
  }

  @Test func `a wait has its code, a text, and the values of that code`() throws {
    var lines = JSONLines()
    let event = try EventMaker()
    let full = WaitReason.diskFull(
      .init(device: 1, directory: "/d", needed: 20 << 20, free: 10 << 20))
    let line = try lines.line(event(.waiting(full)), index: 1, wallSeconds: 0)
    #expect(
      line == """
        {"id":"0123ABCD","index":1,"seq":1,"time":0,"type":"waiting",\
        "url":"https://h/x.iso?token=***","waiting":{"blocked":null,"code":"disk-full",\
        "directory":"/d","free":10485760,\
        "message":"the disk is full: 10.0 MiB free, 20.0 MiB needed","needed":20971520,\
        "next":null,"transfer":null,"until":null}}

        """)
    let retry = try lines.line(event(.waiting(.retry(at: 10.25))), index: 1, wallSeconds: 4)
    let waiting = try JSONValue(parsing: retry)["waiting"]
    #expect(waiting?["message"] == .string("retrying in 7 s"))
    #expect(waiting?["until"] == .number(10.25))
  }

  @Test
  func `an error has the options of the command that help, and the run is not the daemon's`() throws
  {
    var lines = JSONLines()
    let error = TransferError(.unauthorized, "401", status: 401).remedied(by: .credentials)
    let result = TransferResult(state: .failed, error: error)
    let line = try lines.line(try EventMaker()(.finished(result)), index: 1, wallSeconds: 0)
    let end = try JSONValue(parsing: line)
    #expect(end["error"]?["message"]?.string?.contains("--user") == true)
    #expect(end["background"] == .bool(false))
  }

  @Test func `lines are numbered from 1, have the time, and null for unknown values`() throws {
    var lines = JSONLines()
    let event = try EventMaker()
    let first = try lines.line(event(.added(target: nil)), index: 1, wallSeconds: 86_399.5)
    #expect(
      first == """
        {"id":"0123ABCD","index":1,"kind":"download","seq":1,"target":null,"time":86399.5,\
        "type":"added","url":"https://h/x.iso?token=***"}

        """)
    let second = try lines.line(
      event.progress(5, of: nil), index: 2, wallSeconds: 1_800_000_000)
    #expect(
      second == """
        {"bytes":5,"connections":1,"eta":null,"id":"0123ABCD","index":2,"rate":0,"seq":2,\
        "time":1800000000,"total":null,"type":"progress",\
        "url":"https://h/x.iso?token=***"}

        """)
  }

  @Test func `control and direction characters are written as equivalent escapes`() throws {
    var lines = JSONLines()
    let path = "/d/\u{1B}[2J\u{9B}\u{202E}\u{7F}\u{2028}é漢\u{E0041}"
    let line = try lines.line(
      try EventMaker()(.added(target: path)), index: 1, wallSeconds: 0)
    for scalar in ["\u{1B}", "\u{9B}", "\u{202E}", "\u{7F}", "\u{2028}", "\u{E0041}"] {
      #expect(!line.unicodeScalars.contains(try #require(scalar.unicodeScalars.first)))
    }
    #expect(try JSONValue(parsing: line)["target"] == .string(path))
  }
}
