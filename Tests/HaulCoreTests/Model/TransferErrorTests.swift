import FoundationEssentials
import HaulCore
import Testing

/// The fact and the advice of an error.
@Suite struct TransferErrorTests {
  private static let lost = TransferError(
    .connectionLost, "the link (a; b) broke", advice: "look there; try again")

  @Test func `A message is the fact, and the advice if there is any`() {
    #expect(Self.lost.message == "the link (a; b) broke; look there; try again")
    #expect(TransferError(.io, "no disk").message == "no disk")
    #expect(TransferError(.io, "no disk").advice == nil)
  }

  @Test func `An error of the source says so once, before its fact`() {
    let error = Self.lost.ofSource
    #expect(error.fact == "the source: the link (a; b) broke")
    #expect(error.advice == Self.lost.advice)
    #expect(error.ofSource == error)
    let own = TransferError.source(.sourceChanged, "changed", advice: "upload it again")
    #expect(own.message == "the source changed; upload it again")
    #expect(own.ofSource == own)
  }

  @Test func `An error is decoded with its fact and its advice`() throws {
    for error in [Self.lost, TransferError(.io, "no disk")] {
      let data = try JSONEncoder().encode(error)
      #expect(try JSONDecoder().decode(TransferError.self, from: data) == error)
    }
  }

  @Test(arguments: TransferError.Code.allCases)
  func `Another run may help if the error is retried, or if its cause passes by itself`(
    code: TransferError.Code
  ) {
    let passes: [TransferError.Code] = [.diskFull, .inUse, .interrupted, .sourceChanged]
    #expect(TransferError(code, "it failed").isTemporary == passes.contains(code))
    #expect(TransferError(code, "it failed", isRetryable: true).isTemporary)
  }

  @Test func `An error whose attempts are spent is still one that another run may not have`() {
    var (state, generator) = (RetryState(RetryPolicy(), startedAt: Instant()), SplitMix64(seed: 1))
    let error = TransferError(.httpStatus, "503", isRetryable: true, retryAfter: .seconds(86_400))
    var failure = RetryState.Failure()
    failure.retryAfter = error.retryAfter
    #expect(state.failed(failure, at: Instant(), using: &generator) == .giveUp)
    #expect(state.last(error).isTemporary)
    #expect(!state.last(TransferError(.notFound, "404")).isTemporary)
  }

  @Test func `A refused command says what to do instead`() {
    let error = TransferError(.isRunning)
    #expect((error.fact, error.advice) == ("it is running", "pause it first"))
    #expect(error.refusal == .isRunning)
  }
}
