import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// What is shown between two attempts.
extension ForegroundReportTests {
  @Test
  func `a pause that the server requested is the reason of a wait, and the bars count it down`()
    throws
  {
    var run = Run(view: .none)
    let event = try EventMaker()
    let error = TransferError(
      .httpStatus, "the server answered 503", advice: "try again later", status: 503,
      retryAfter: .seconds(7))
    run.tick(3)
    try run.handle(
      event(.attempt(number: 1, error: error, delay: .seconds(7))),
      event(.waiting(.slot)))
    #expect(
      run.messages == [
        "haul: https://h/x.iso?token=***: the server answered 503; attempt 1 failed; retrying in "
          + "7.0 s, as the server asked"
      ])
    func row() -> String? {
      ProgressFrame(run.report.model, width: 80, height: 24, style: FrameStyle()).lines.first?.text
    }
    #expect(row() == "x.iso  retrying in 7 s, as the server asked")
    run.tick(8)
    try run.handle(event.progress(1, of: 2))
    #expect(row() == "x.iso  retrying in 2 s, as the server asked")
    run.tick(10)
    try run.handle(event.progress(1, of: 2))
    #expect(row()?.contains("retrying") != true)
  }

  @Test(arguments: [0, 6])
  func `a backoff that is longer than the wait the server asked for has the failure as its reason`(
    asked: Int
  ) throws {
    var run = Run(view: .none)
    let event = try EventMaker()
    let error = TransferError(
      .httpStatus, "the server answered 503", status: 503, retryAfter: .seconds(asked))
    try run.handle(event(.attempt(number: 1, error: error, delay: .seconds(7))))
    #expect(
      run.messages == [
        "haul: https://h/x.iso?token=***: the server answered 503; attempt 1 failed; retrying in "
          + "7.0 s"
      ])
  }

  @Test func `while an attempt is awaited, the plain line counts it down, as the bars do`() throws {
    var run = Run()
    let event = try EventMaker()
    let error = TransferError(.connectionLost, "the server closed the connection")
    try run.handle(
      event(.added(target: "/d/x.iso")), event(.phase(.transferring, reason: nil)),
      event.progress(99, of: 100),
      event(.attempt(number: 1, error: error, delay: .seconds(30))), event.progress(99, of: 100))
    run.tick(10)
    #expect(
      run.messages.last
        == "x.iso: 99 B of 100 B, 99%, retrying in 20 s: the server closed the connection")
    run.tick(31)
    try run.handle(event.progress(99, of: 100))
    run.tick(41)
    #expect(run.messages.last?.contains("retrying") == false, "\(run.messages)")
  }
}
