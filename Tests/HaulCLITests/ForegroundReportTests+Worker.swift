import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// What `--worker` reports to an engine that may run the command again.
extension ForegroundReportTests {
  enum Outcome: Sendable { case completed, failed, temporary, left }

  private static let statuses: [([Outcome], Interruption?, HaulCLI.ExitStatus)] = [
    ([.completed], nil, .completed),
    ([.completed, .failed], nil, .failed),
    ([.completed, .temporary], nil, .tryAgain),
    ([.failed, .temporary], nil, .tryAgain),
    ([.completed, .left], nil, .tryAgain),
    ([.completed], .terminate, .completed),
    ([.failed], .terminate, .failed),
    ([.temporary], .terminate, .tryAgain),
    ([.failed, .left], .terminate, .tryAgain),
    ([.completed, .left], .interrupt, .interrupted),
    ([.temporary, .left], .hangUp, .hungUp),
    ([.temporary], .outputGone, .outputGone),
  ]

  private static func event(_ outcome: Outcome, _ event: EventMaker) -> TransferEvent? {
    switch outcome {
    case .completed: event.completed()
    case .failed: event.failed()
    case .temporary:
      event(
        .finished(
          TransferResult(
            state: .failed, error: TransferError(.connect, "no route", isRetryable: true))))
    case .left: nil
    }
  }

  @Test(arguments: statuses)
  func `The status of a worker says whether another run may help`(
    outcomes: [Outcome], interruption: Interruption?, status: HaulCLI.ExitStatus
  ) throws {
    var run = Run(outcomes.count, drain: .seconds(25))
    for (number, outcome) in outcomes.enumerated() {
      let maker = try EventMaker("https://h/\(number)", id: "0000000\(number)")
      try run.handle(maker(.added(target: nil)))
      if let end = Self.event(outcome, maker) { try run.handle(end) }
    }
    if let interruption { run.report.interrupt(interruption) }
    try run.end()
    #expect(run.report.status == status)
  }

  @Test func `The log of a worker has a line for all files every 30 s, and one for each failure`()
    throws
  {
    var run = Run(2, drain: .zero)
    let (good, bad) = (try EventMaker(id: "00000001"), try EventMaker(id: "00000002"))
    let error = TransferError(.timeout, "no answer", isRetryable: true)
    try run.handle(
      good(.added(target: "/d/x.iso")), good(.phase(.transferring, reason: nil)),
      good.progress(5 << 20, of: 10 << 20, rate: 1_048_576),
      bad(.attempt(number: 1, error: error, delay: .seconds(1))), bad.failed())
    run.tick(10)
    run.tick(30)
    try run.handle(good.completed(10 << 20))
    run.tick(59)
    try run.end()
    #expect(
      run.messages == [
        "haul: https://h/x.iso?token=***: the server has no such file",
        "haul: 1 of 2 files, 1 failed, 5.0 MiB, 1.0 MiB/s, 0:05 left",
        "haul: failed: https://h/x.iso?token=***: the server has no such file",
        "haul: 1 downloaded, 1 failed; 10.0 MiB in 1:00, 170.7 KiB/s",
      ])
  }

  @Test(
    arguments: [
      (nil, false, .completed), (nil, true, .failed), (.zero, false, .failed),
    ] as [(Duration?, Bool, HaulCLI.ExitStatus)])
  func `A file that nothing proves has failed for good, for a worker and with a manifest`(
    drain: Duration?, hasManifest: Bool, status: HaulCLI.ExitStatus
  ) throws {
    var run = Run(2, json: true, drain: drain, hasManifest: hasManifest)
    let (good, bad) = (try EventMaker(id: "00000001"), try EventMaker(id: "00000002"))
    let result = TransferResult(
      state: .completed, path: "/d/x.iso", bytes: 10, fetched: 10, verified: .unverified)
    try run.handle(good.completed(), bad(.finished(result)))
    try run.end()
    #expect(run.report.status == status)
    let failed = status == .failed ? 1 : 0
    #expect(run.json.contains(#""failed":\#(failed)"#), "\(run.json)")
    #expect(run.json.contains(#""completed":\#(2 - failed)"#), "\(run.json)")
  }

  @Test(
    arguments: [(nil, false, false), (.zero, false, true), (nil, true, true)]
      as [(Duration?, Bool, Bool)])
  func `It has not failed if that is allowed`(
    drain: Duration?, hasManifest: Bool, isStrict: Bool
  ) throws {
    for isAllowed in [false, true] {
      var run = Run(drain: drain, hasManifest: hasManifest, allowsUnverified: isAllowed)
      let result = TransferResult(
        state: .completed, path: "/d/x", bytes: 10, fetched: 10, verified: .unverified)
      try run.handle(try EventMaker()(.finished(result)))
      try run.end()
      let isFailure = isStrict && !isAllowed
      #expect(run.report.status == (isFailure ? .failed : .completed))
      let word = isFailure ? "would; it counts as failed" : "warning: nothing shows"
      #expect(run.messages.contains { $0.contains(word) })
      // The log of an engine has no line of a file that did not fail.
      let isTold = !isFailure && drain == nil
      #expect(run.messages.contains { $0.contains("complete, ") } == isTold)
    }
  }
}
