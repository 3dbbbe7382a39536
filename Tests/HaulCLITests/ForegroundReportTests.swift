import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// Reports of a run.
@Suite struct ForegroundReportTests {
  struct Run {
    var report: ForegroundReport
    var messages: [String] = []
    var json = ""

    init(
      _ expected: Int = 1, json: Bool = false, quiet: Bool = false,
      view: ForegroundReport.ProgressView = .plain, drain: Duration? = nil,
      hasManifest: Bool = false, allowsUnverified: Bool = false, resumes: Bool = true
    ) {
      var options = OutputOptions()
      options.drain = drain
      options.hasManifest = hasManifest
      options.resumes = resumes
      options.allowsUnverified = allowsUnverified
      options.json = json
      options.quiet = quiet
      report = ForegroundReport(
        indices: Array(1...max(1, expected)).suffix(expected), options: options, view: view,
        at: Instant())
    }

    mutating func take(_ outputs: [ForegroundReport.Output]) {
      for output in outputs {
        switch output {
        case .message(let line): messages.append(line)
        case .output(let line): json += line
        }
      }
    }

    mutating func handle(_ events: TransferEvent...) throws {
      for event in events { take(try report.handle(event, wallSeconds: 0)) }
    }

    mutating func tick(_ seconds: Int) { take(report.tick(at: Instant(.seconds(seconds)))) }

    mutating func end() throws {
      take(try report.end(at: Instant(.seconds(60)), wallSeconds: 60))
    }
  }

  /// True for completed, false for failed, nil for not ended.
  private static let statuses: [([Bool?], Interruption?, HaulCLI.ExitStatus)] = [
    ([true], nil, .completed),
    ([false], nil, .failed),
    ([true, false], nil, .failed),
    ([true, nil], nil, .failed),
    ([true, nil], .interrupt, .interrupted),
    ([nil, false], .terminate, .terminated),
    ([true], .interrupt, .completed),
    ([false], .terminate, .failed),
    ([nil], .outputGone, .outputGone),
    ([true], .outputGone, .outputGone),
  ]

  @Test(arguments: statuses)
  func `the exit status depends on the outcomes`(
    outcomes: [Bool?], interruption: Interruption?, status: HaulCLI.ExitStatus
  ) throws {
    var run = Run(outcomes.count)
    for (number, outcome) in outcomes.enumerated() {
      let event = try EventMaker("https://h/\(number)", id: "0000000\(number)")
      try run.handle(event(.added(target: nil)))
      if let outcome { try run.handle(outcome ? event.completed() : event.failed()) }
    }
    if let interruption { run.report.interrupt(interruption) }
    #expect(run.report.isDone == !outcomes.contains(nil))
    try run.end()
    #expect(run.report.status == status)
  }

  @Test func `the statuses are the numbers of the contract`() {
    let all: [HaulCLI.ExitStatus] = [
      .completed, .failed, .usage, .tryAgain, .interrupted, .outputGone, .terminated,
    ]
    #expect(all.map(\.rawValue) == [0, 1, 2, 75, 130, 141, 143])
  }

  @Test func `without a terminal: a line at the start, every 10 s, and at the end`() throws {
    var run = Run()
    let event = try EventMaker()
    try run.handle(
      event(.added(target: "/d/x.iso")), event(.phase(.connecting, reason: nil)),
      event(.phase(.transferring, reason: nil)))
    run.tick(9)
    try run.handle(event.progress(5 << 20, of: 10 << 20, rate: 1_048_576, connections: 2))
    run.tick(10)
    run.tick(19)
    try run.handle(event.progress(6 << 20, of: nil, rate: 0))
    run.tick(20)
    try run.handle(event.completed(10 << 20))
    run.tick(30)
    try run.end()
    #expect(
      run.messages == [
        "/d/x.iso: started, 10.0 MiB, from https://h/x.iso?token=***",
        "x.iso: 5.0 MiB of 10.0 MiB, 50%, 1.0 MiB/s, 0:05 left, 2 connections",
        "x.iso: 6.0 MiB, 0 B/s, 1 connection",
        "/d/x.iso: complete, 10.0 MiB in 2.0 s, 5.0 MiB/s",
      ])
  }

  @Test func `if a file is whole before any progress, its length is in the first line`() throws {
    var run = Run(2)
    let (small, empty) = (try EventMaker(id: "00000001"), try EventMaker(id: "00000002"))
    for event in [small, empty] {
      try run.handle(
        event(.added(target: "/d/x.iso")), event(.phase(.transferring, reason: nil)),
        event(.phase(.publishing, reason: nil)))
    }
    #expect(run.messages.isEmpty)
    try run.handle(small.completed(10), empty.completed(0))
    #expect(
      run.messages == [
        "/d/x.iso: started, 10 B, from https://h/x.iso?token=***",
        "/d/x.iso: complete, 10 B in 2.0 s, 5 B/s",
        "/d/x.iso: started, 0 B, from https://h/x.iso?token=***",
        "/d/x.iso: complete, 0 B in 2.0 s, 0 B/s",
      ])
  }

  @Test
  func `a name with a number is announced when the file is saved under it, and not before`() throws
  {
    let target = TransferEvent.Kind.target("/d/x (1).iso", reason: "x.iso exists and is another")
    let line =
      "haul: https://h/x.iso?token=***: x.iso exists and is another; haul keeps it, and saves the "
      + "download as /d/x (1).iso"
    var present = Run(view: .none)
    let event = try EventMaker()
    try present.handle(event(.added(target: "/d/x.iso")), event(target), event.completed())
    #expect(present.messages == ["/d/x.iso: complete, 10 B in 2.0 s, 5 B/s"])
    var saved = Run(view: .none)
    try saved.handle(event(.added(target: "/d/x.iso")), event(target))
    #expect(saved.messages.isEmpty)
    try saved.handle(event(.phase(.transferring, reason: nil)))
    #expect(saved.messages == [line])
    var quiet = Run(quiet: true, view: .none)
    try quiet.handle(
      event(.added(target: "/d/x.iso")), event(target), event(.phase(.transferring, reason: nil)),
      event.completed())
    #expect(quiet.messages == [line], "nobody has asked for that name")
    var empty = Run(view: .none)
    let result = TransferResult(state: .completed, path: "/d/x (1).iso", bytes: 0)
    try empty.handle(event(.added(target: "/d/x.iso")), event(target), event(.finished(result)))
    #expect(empty.messages.first == line)
  }

  @Test
  func `equal failures of a host have a line each for the first, and one together at the end`()
    throws
  {
    var run = Run(5)
    for (number, host) in ["h", "h", "other", "h", "h"].enumerated() {
      let event = try EventMaker("https://\(host)/\(number)", id: "0000000\(number)")
      try run.handle(event(.added(target: "/d/\(number)")), event.failed())
    }
    #expect(run.messages.count == 4)
    try run.end()
    #expect(run.messages.contains("haul: https://other/2: the server has no such file"))
    #expect(
      run.messages.last == "haul: failed: h: 1 more file: the server has no such file: 4")
  }

  @Test(arguments: [false, true])
  func `A file that nothing proves gets a warning, also with -q`(isQuiet: Bool) throws {
    var run = Run(json: true, quiet: isQuiet, view: .none)
    let event = try EventMaker()
    let result = TransferResult(
      state: .completed, path: "/d/x.iso", bytes: 10, fetched: 10, verified: .unverified)
    try run.handle(event(.finished(result)))
    #expect(run.messages.last?.contains("warning: nothing shows that the file is whole") == true)
    #expect(run.json.contains("\"warning\":\"unverified\""))
    #expect(run.report.status == .completed)
  }

  @Test func `A pause that a host asks for has one line`() throws {
    var run = Run(3, json: true, view: .none)
    let (one, other) = (try EventMaker(id: "00000001"), try EventMaker(id: "00000002"))
    let pause = TransferEvent.Kind.waiting(.hostBackOff(until: 8))
    try run.handle(one(pause), other(pause), other(.waiting(.hostBackOff(until: 8.5))))
    let line = "haul: h asked to wait: no other file of it begins in the next 8.0 s"
    #expect(run.messages == [line], "\(run.messages)")
    #expect(run.json.contains("\"host-back-off\""))
    try run.handle(one(.waiting(.hostBackOff(until: 20))))
    #expect(run.messages.count == 2)
  }

  @Test func `an upload that another run has published is complete, and says so`() throws {
    var run = Run(json: true, view: .none)
    let event = try EventMaker()
    let result = TransferResult(state: .completed, bytes: 2048, fetched: 10)
    try run.handle(event(.finished(result.notingAdoption())))
    #expect(run.messages.last?.contains("complete, 2.0 KiB, published by another run") == true)
    #expect(run.json.contains("\"is_adopted\":true"))
  }

  @Test func `messages have one line, without secrets, and say what happens next`() throws {
    var run = Run(view: .none)
    let event = try EventMaker()
    let error = TransferError(
      .connect, "connection refused\u{1B}[2J\nby 192.0.2.7:443",
      advice: "is the server running?")
    try run.handle(
      event(.attempt(number: 2, error: error, delay: .milliseconds(500))),
      event(.phase(.restarted, reason: "the file changed on the server")), event.failed())
    try run.end()
    #expect(
      run.messages == [
        "haul: https://h/x.iso?token=***: connection refused\\x1b[2J\\nby 192.0.2.7:443; "
          + "attempt 2 failed; retrying in 0.5 s",
        "haul: https://h/x.iso?token=***: the file changed on the server; starting over",
        "haul: https://h/x.iso?token=***: the server has no such file",
      ])
  }

  @Test func `-q shows only errors`() throws {
    var run = Run(2, quiet: true)
    let (good, bad) = (try EventMaker(id: "00000001"), try EventMaker(id: "00000002"))
    try run.handle(
      good(.phase(.transferring, reason: nil)), good(.phase(.restarted, reason: nil)),
      good.completed(), bad.failed())
    run.tick(100)
    try run.end()
    #expect(run.messages == ["haul: https://h/x.iso?token=***: the server has no such file"])
  }

  @Test func `a skipped file is not reported as complete`() throws {
    var run = Run()
    let result = TransferResult(state: .completed, path: "/d/x", bytes: 10, reused: 10)
    try run.handle(try EventMaker()(.finished(result)))
    #expect(run.messages == ["/d/x: skipped, a file of that name exists (10 B, not checked)"])
  }

  @Test func `a file that was already there is reported as such`() throws {
    var run = Run()
    let result = TransferResult(
      state: .completed, path: "/d/x", bytes: 10, reused: 10, verified: .length)
    try run.handle(try EventMaker()(.finished(result)))
    #expect(run.messages == ["/d/x: complete, 10 B already there"])
  }

  @Test func `an upload that an earlier run has sent is reported as such`() throws {
    var run = Run()
    let result = TransferResult(state: .completed, bytes: 10, reused: 10, verified: .length)
    let identity = TransferIdentity(
      url: try ResourceURL("https://h/x"), identifier: nil, group: nil, kind: .upload)
    try run.handle(try EventMaker()(.finished(result)).identified(identity))
    #expect(run.messages == ["x: complete, 10 B already there"])
  }

  @Test func `an upload that leaves the server's file there is reported as a download is`() throws {
    let identity = TransferIdentity(
      url: try ResourceURL("https://h/x"), identifier: nil, group: nil, kind: .upload)
    // A store may say that it has an object only after the bytes were sent.
    for sent: Int64 in [0, 10] {
      let skipped = TransferResult(state: .completed, bytes: 10, fetched: sent, reused: 10)
      var run = Run()
      try run.handle(try EventMaker()(.finished(skipped)).identified(identity))
      #expect(run.messages.last == "x: skipped, a file of that name exists (10 B, not checked)")
    }
    let same = TransferResult(state: .completed, bytes: 10, reused: 10, verified: .checksum)
    var run = Run()
    try run.handle(try EventMaker()(.finished(same)).identified(identity))
    #expect(run.messages == ["x: complete, 10 B already there, checksum verified"])
  }

  @Test func `what the server says about an upload is the output, also with -q`() throws {
    let identity = TransferIdentity(
      url: try ResourceURL("https://h/x"), identifier: nil, group: nil, kind: .upload)
    for (reply, output) in [
      (UploadReply(location: "https://h/1", text: "id 7\nok"), "id 7\nok\n"),
      (UploadReply(location: "https://h/1"), "https://h/1\n"),
      (UploadReply(location: "https://h/x"), ""),
    ] {
      let result = TransferResult(state: .completed, bytes: 10, verified: .length).noting(reply)
      let event = try EventMaker()(.finished(result)).identified(identity)
      var (text, lines) = (Run(quiet: true), Run(json: true))
      try text.handle(event)
      #expect((text.json, text.messages) == (output, []))
      try lines.handle(event)
      #expect(lines.json.contains(#""reply":{"location":"\#(reply.location ?? "")","text":"#))
      #expect(try EventSchema().violations(line: lines.json) == [])
    }
  }

  @Test func `an existing file with the digest is reported as verified`() throws {
    var run = Run()
    let result = TransferResult(
      state: .completed, path: "/d/x", bytes: 10, reused: 10, verified: .checksum)
    try run.handle(try EventMaker()(.finished(result)))
    #expect(run.messages == ["/d/x: complete, 10 B already there, checksum verified"])
  }

  @Test func `the first line has the final name`() throws {
    var run = Run()
    let event = try EventMaker()
    try run.handle(
      event(.added(target: "d/x.iso")), event(.target("d/x (1).iso", reason: "x.iso is another")),
      event(.phase(.transferring, reason: nil)), event.progress(1, of: 2))
    #expect(
      run.messages == [
        "haul: https://h/x.iso?token=***: x.iso is another; haul keeps it, and saves "
          + "the download as d/x (1).iso",
        "d/x (1).iso: started, 2 B, from https://h/x.iso?token=***",
      ])
  }

  @Test
  func `JSON lines have the position of the address among those given, also after an omitted one`()
    throws
  {
    let options = {
      var options = OutputOptions()
      options.json = true
      return options
    }()
    var report = ForegroundReport(indices: [1, 3], options: options, view: .none, at: Instant())
    let first = try report.handle(EventMaker(id: "00000001")(.added(target: "a")), wallSeconds: 0)
    let second = try report.handle(EventMaker(id: "00000002")(.added(target: "b")), wallSeconds: 0)
    for (outputs, index) in [(first, Int64(1)), (second, 3)] {
      guard case .output(let line) = outputs.first else { throw UsageError("no line") }
      #expect(try JSONValue(parsing: line)["index"] == .integer(index))
    }
  }
}
