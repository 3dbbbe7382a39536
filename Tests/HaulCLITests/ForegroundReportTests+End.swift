import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// What a run says of several files at its end.
extension ForegroundReportTests {
  @Test
  func `after a signal a line says how to resume, and the JSON lines end with paused and summary`()
    throws
  {
    var run = Run(2, json: true, view: .none)
    let (done, rest) = (try EventMaker(id: "00000001"), try EventMaker(id: "00000002"))
    try run.handle(done(.added(target: nil)), rest(.added(target: nil)), done.completed(10))
    run.report.interrupt(.terminate)
    try run.handle(rest(.paused(by: .signal)))
    try run.end()
    #expect(
      run.messages.dropLast().last == "haul: 1 downloaded, 1 not complete; 10 B in 1:00, 0 B/s")
    #expect(
      run.messages.last == "haul: terminated; 1 file is not complete; run the same command "
        + "again to resume, if the server allows it")
    #expect(try EventSchema().violations(output: run.json) == [])
    let lines = try run.json.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(lines.suffix(2).map { $0["type"] } == [.string("paused"), .string("summary")])
    let summary = try #require(lines.last)
    #expect(summary["completed"] == .integer(1) && summary["paused"] == .integer(1))
    #expect(summary["bytes"] == .integer(10) && summary["duration"] == .integer(60))
  }

  @Test
  func `Of some files, an interruption says what is done, what is left and how to go on`() throws {
    for hasManifest in [false, true] {
      var run = Run(3, hasManifest: hasManifest, resumes: false)
      try run.handle(try EventMaker("https://h/f1", id: "00000001").completed(10))
      try run.handle(try EventMaker("https://h/f2", id: "00000002").failed())
      run.report.interrupt(.interrupt)
      try run.end()
      let remedy = hasManifest ? "the rest" : "every file again"
      #expect(
        run.messages.suffix(2) == [
          "haul: 1 downloaded, 1 failed, 1 not complete; 10 B in 1:00, 0 B/s",
          "haul: interrupted; 1 file is not complete; run the same command again to send \(remedy)",
        ])
      #expect(run.messages.count { $0.contains("/f2: ") } == 1, "a failure has one line")
    }
  }

  @Test
  func `more than five files end with a summary, with the reasons of the failed ones`() throws {
    var run = Run(9)
    func event(_ number: Int) throws -> EventMaker {
      try EventMaker("https://h/f\(number)", id: "0000000\(number)")
    }
    for number in 1...5 { try run.handle(event(number).completed(1 << 20)) }
    for number in 6...7 { try run.handle(event(number).failed()) }
    let there = TransferResult(state: .completed, path: "/d/x", bytes: 10, reused: 10)
    try run.handle(event(8)(.finished(there)))
    // For an unfinished transfer, received bytes count; the first 1 MiB was reused.
    try run.handle(
      event(9).progress(1 << 20, of: 4 << 20), event(9).progress(2 << 20, of: 4 << 20))
    run.report.interrupt(.interrupt)
    try run.end()
    #expect(
      run.messages.suffix(4) == [
        "haul: failed: https://h/f6: the server has no such file",
        "haul: failed: https://h/f7: the server has no such file",
        "haul: 5 downloaded, 1 already there, 2 failed, 1 not complete; 6.0 MiB in 1:00, 102.4 KiB/s",
        "haul: interrupted; 1 file is not complete; run the same command again to resume, if the "
          + "server allows it",
      ])
  }

  @Test
  func `many equal failures are listed together, and named; few files need no summary`() throws {
    var run = Run(30)
    for number in 10..<40 {
      try run.handle(EventMaker("https://h/f\(number)", id: "000000\(number)").failed())
    }
    #expect(run.messages.count == 3)
    try run.end()
    let names = (13..<40).map { "f\($0)" }.joined(separator: ", ")
    #expect(
      run.messages.suffix(5) == [
        "haul: failed: https://h/f10: the server has no such file",
        "haul: failed: https://h/f11: the server has no such file",
        "haul: failed: https://h/f12: the server has no such file",
        "haul: failed: h: 27 more files: the server has no such file: \(names)",
        "haul: 0 downloaded, 30 failed; 0 B in 1:00, 0 B/s",
      ])
    var few = Run(5)
    try few.handle(EventMaker().completed())
    try few.end()
    #expect(!few.messages.contains { $0.hasPrefix("haul: 1 downloaded") })
  }
}
