import HaulCore
import Testing

@Suite struct RetryStateTests {
  /// Always the same bits: all ones is the longest wait, zero the shortest.
  struct Constant: RandomNumberGenerator {
    let bits: UInt64
    mutating func next() -> UInt64 { bits }
  }

  private func at(_ seconds: Double) -> Instant { Instant(.seconds(seconds)) }

  @Test func `Waits double from half a second to a minute`() {
    let ceilings = (1...9).map { RetryPolicy.ceiling(ofAttempt: $0) }
    #expect(ceilings == [0.5, 1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    #expect(RetryPolicy.ceiling(ofAttempt: .max) == .seconds(60))
  }

  @Test func `Jitter is full and never passes the ceiling`() {
    for seed in UInt64(0)..<200 {
      var generator = SplitMix64(seed: seed)
      var state = RetryState(RetryPolicy(), startedAt: at(0))
      for attempt in 1...8 {
        let decision = state.failed(at: at(0), progressed: 0, remaining: 9, using: &generator)
        guard case .retry(let delay, attempt) = decision else {
          Issue.record("seed \(seed): \(decision)")
          return
        }
        #expect(delay >= .zero && delay <= RetryPolicy.ceiling(ofAttempt: attempt), "seed \(seed)")
      }
      check(
        state.failed(at: at(0), progressed: 0, remaining: 9, using: &generator), is: .giveUp)
    }
    var lowest = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(at: at(0), progressed: 0, remaining: 9, using: &lowest),
      is: .retry(after: .zero, attempt: 1))
  }

  @Test(
    "Only progress that counts begins the count anew",
    arguments: [
      (0, 1 << 30, 3), (1, 1 << 30, 3), ((256 << 10) - 1, 1 << 30, 3), (256 << 10, 1 << 30, 1),
      (10, 10, 1), (25, 100, 1), (24, 100, 3), (1, 3, 1), (0, 0, 3), (100 << 10, 400 << 10, 1),
    ] as [(Int64, Int64, Int)])
  func progress(bytes: Int64, remaining: Int64, attempt: Int) {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    for _ in 1...2 {
      _ = state.failed(at: at(0), progressed: 0, remaining: remaining, using: &generator)
    }
    check(
      state.failed(at: at(0), progressed: bytes, remaining: remaining, using: &generator),
      is: .retry(after: .zero, attempt: attempt))
  }

  @Test func `Small progress adds up over attempts`() {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    let attempts = (1...6).map { _ in
      _ = state.failed(at: at(0), progressed: 100 << 10, remaining: 1 << 30, using: &generator)
      return state.attempts
    }
    #expect(attempts == [1, 2, 1, 2, 3, 1])
  }

  @Test func `No retries means none`() {
    var policy = RetryPolicy()
    policy.retries = 0
    var generator = Constant(bits: 0)
    var state = RetryState(policy, startedAt: at(0))
    check(
      state.failed(at: at(0), progressed: 1 << 20, remaining: 1 << 30, using: &generator),
      is: .giveUp)
  }

  @Test func `The time without progress is bounded and progress extends it`() {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(at: at(3600), progressed: 0, remaining: 9, using: &generator),
      is: .retry(after: .zero, attempt: 1))
    check(
      state.failed(at: at(3601), progressed: 1 << 20, remaining: 1 << 30, using: &generator),
      is: .retry(after: .zero, attempt: 1))
    check(
      state.failed(at: at(7201), progressed: 0, remaining: 9, using: &generator),
      is: .retry(after: .zero, attempt: 2))
    check(
      state.failed(at: at(7202), progressed: 0, remaining: 9, using: &generator), is: .giveUp)
  }

  @Test func `The server's wish takes the place of the back-off unless it ends too late`() {
    var generator = SplitMix64(seed: 1)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(
        at: at(0), progressed: 0, remaining: 9, retryAfter: .seconds(120), using: &generator),
      is: .retry(after: .seconds(120), attempt: 1))
    check(
      state.failed(
        at: at(1), progressed: 0, remaining: 9, retryAfter: .seconds(3600), using: &generator),
      is: .giveUp)
  }

  @Test func `Before the first answer an unknown host gets two retries within three seconds`() {
    var generator = SplitMix64(seed: 2)
    let unknown = TransferError(.dns, "unknown host", isRetryable: true)
    func fail(_ state: inout RetryState, _ second: Double, hasAnswered: Bool) -> Bool {
      state.failed(
        unknown, hasAnswered: hasAnswered, at: at(second), progressed: 0, remaining: 9,
        using: &generator) != .giveUp
    }
    var quick = RetryState(RetryPolicy(), startedAt: at(0))
    #expect([1, 1.2, 1.4].map { fail(&quick, $0, hasAnswered: false) } == [true, true, false])
    var slow = RetryState(RetryPolicy(), startedAt: at(0))
    #expect([9, 12.1].map { fail(&slow, $0, hasAnswered: false) } == [true, false])
    var known = RetryState(RetryPolicy(), startedAt: at(0))
    #expect((1...9).map { fail(&known, Double($0), hasAnswered: true) }.filter { $0 }.count == 8)
  }

  @Test func `An error that cannot pass is not tried again`() {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(
        TransferError(.tls, "certificate expired"), hasAnswered: true, at: at(0),
        progressed: 1 << 30, remaining: 1 << 40, using: &generator), is: .giveUp)
  }
}
