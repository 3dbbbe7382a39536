import HaulCore
import Testing

@Suite struct RetryStateTests {
  /// Constant bits: all ones give the longest wait, zeros the shortest.
  struct Constant: RandomNumberGenerator {
    let bits: UInt64
    mutating func next() -> UInt64 { bits }
  }

  private func at(_ seconds: Double) -> Instant { Instant(.seconds(seconds)) }

  @Test func `The longest delay doubles from half a second to one minute`() {
    let ceilings = (1...9).map { RetryPolicy.ceiling(ofAttempt: $0) }
    #expect(ceilings == [0.5, 1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    #expect(RetryPolicy.ceiling(ofAttempt: .max) == .seconds(60))
  }

  @Test func `Jitter covers the whole delay and never exceeds it`() {
    for seed in UInt64(0)..<200 {
      var generator = SplitMix64(seed: seed)
      var state = RetryState(RetryPolicy(), startedAt: at(0))
      for attempt in 1...8 {
        let decision = state.failed(at: at(0), progressBytes: 0, remaining: 9, using: &generator)
        guard case .retry(let delay, attempt) = decision else {
          Issue.record("seed \(seed): \(decision)")
          return
        }
        #expect(delay >= .zero && delay <= RetryPolicy.ceiling(ofAttempt: attempt), "seed \(seed)")
      }
      check(
        state.failed(at: at(0), progressBytes: 0, remaining: 9, using: &generator), is: .giveUp)
    }
    var lowest = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(at: at(0), progressBytes: 0, remaining: 9, using: &lowest),
      is: .retry(after: .zero, attempt: 1))
  }

  @Test(
    arguments: [
      (0, 1 << 30, 3), (1, 1 << 30, 3), ((256 << 10) - 1, 1 << 30, 3), (256 << 10, 1 << 30, 1),
      (10, 10, 1), (25, 100, 1), (24, 100, 3), (1, 3, 1), (0, 0, 3), (100 << 10, 400 << 10, 1),
    ] as [(Int64, Int64, Int)])
  func `Only enough progress resets the count`(bytes: Int64, remaining: Int64, attempt: Int) {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    for _ in 1...2 {
      _ = state.failed(at: at(0), progressBytes: 0, remaining: remaining, using: &generator)
    }
    check(
      state.failed(at: at(0), progressBytes: bytes, remaining: remaining, using: &generator),
      is: .retry(after: .zero, attempt: attempt))
  }

  @Test func `Small progress adds up over several attempts`() {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    let attempts = (1...6).map { _ in
      _ = state.failed(at: at(0), progressBytes: 100 << 10, remaining: 1 << 30, using: &generator)
      return state.attempts
    }
    #expect(attempts == [1, 2, 1, 2, 3, 1])
  }

  @Test func `With zero retries, nothing is retried`() {
    var policy = RetryPolicy()
    policy.retries = 0
    var generator = Constant(bits: 0)
    var state = RetryState(policy, startedAt: at(0))
    check(
      state.failed(at: at(0), progressBytes: 1 << 20, remaining: 1 << 30, using: &generator),
      is: .giveUp)
  }

  @Test func `The time without progress is limited, and progress extends it`() {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(at: at(3600), progressBytes: 0, remaining: 9, using: &generator),
      is: .retry(after: .zero, attempt: 1))
    check(
      state.failed(at: at(3601), progressBytes: 1 << 20, remaining: 1 << 30, using: &generator),
      is: .retry(after: .zero, attempt: 1))
    check(
      state.failed(at: at(7201), progressBytes: 0, remaining: 9, using: &generator),
      is: .retry(after: .zero, attempt: 2))
    check(
      state.failed(at: at(7202), progressBytes: 0, remaining: 9, using: &generator), is: .giveUp)
  }

  @Test func `Retry-After lengthens the backoff, unless it ends too late`() {
    var generator = SplitMix64(seed: 1)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    check(
      state.failed(
        at: at(0), progressBytes: 0, remaining: 9, retryAfter: .seconds(120), using: &generator),
      is: .retry(after: .seconds(120), attempt: 1))
    check(
      state.failed(
        at: at(1), progressBytes: 0, remaining: 9, retryAfter: .seconds(3600), using: &generator),
      is: .giveUp)
  }

  @Test(arguments: [.zero, .seconds(1)] as [Duration])
  func `A Retry-After that is shorter than the backoff does not shorten it`(asked: Duration) {
    var generator = Constant(bits: .max)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    let waits = [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000].map(Duration.milliseconds)
    for (attempt, wait) in zip(1..., waits) {
      check(
        state.failed(
          at: at(0), progressBytes: 0, remaining: 9, retryAfter: asked, using: &generator),
        is: .retry(after: max(wait, asked), attempt: attempt))
    }
  }

  @Test func `A backoff that ends too late is no wait that the server asked for`() {
    var generator = Constant(bits: .max)
    var policy = RetryPolicy()
    policy.maximumTimeWithoutProgress = .milliseconds(100)
    var state = RetryState(policy, startedAt: at(0))
    let error = TransferError(.httpStatus, "503", isRetryable: true, retryAfter: .zero)
    let failure = RetryState.Failure(
      error, unresponsiveHost: nil, hasAnswered: true, isAttended: true)
    check(state.failed(failure, at: at(0), using: &generator), is: .giveUp)
    #expect(state.last(error) == error)
  }

  @Test(
    arguments: [
      (366 * 86_400, "a year or more"), (3 * 86_400, "3 days"), (86_400, "24 hours"),
      (7201, "3 hours"), (3600, "60 minutes"), (121, "3 minutes"), (90, "90 s"),
    ], [TransferError.Code.httpStatus, .rateLimited])
  func `The message names a wait that the server asks for, if it is too long`(
    wait: (seconds: Double, text: String), code: TransferError.Code
  ) {
    var generator = Constant(bits: 0)
    var policy = RetryPolicy()
    policy.maximumTimeWithoutProgress = .seconds(60)
    var state = RetryState(policy, startedAt: at(0))
    let error = TransferError(
      code, "the server answered 503", advice: "try again later", status: 503, isRetryable: true,
      retryAfter: .seconds(wait.seconds))
    let failure = RetryState.Failure(
      error, unresponsiveHost: nil, hasAnswered: true, isAttended: true)
    check(state.failed(failure, at: at(1), using: &generator), is: .giveUp)
    let last = state.last(error)
    #expect(last.fact == "the server answered 503, and asks to wait \(wait.text)")
    #expect(last.advice?.hasPrefix("that is longer than this transfer waits") == true)
    #expect(last.code == code && last.status == 503 && last.remedy == .longerWait)
    #expect(RetryState(policy, startedAt: at(0)).last(error) == error, "no wait was refused")
  }

  /// Whether each of several failures is retried, for a host with `failures` failed attempts
  /// before.
  private func retries(
    at seconds: [Double], _ error: TransferError, hasAnswered: Bool = false,
    isAttended: Bool = true, host: HostHealth? = nil, isShort: Bool = true
  ) -> [Bool] {
    var generator = Constant(bits: .max)
    var policy = RetryPolicy()
    policy.isShortAtFirstContact = isShort
    var state = RetryState(policy, startedAt: at(0))
    var host = host
    return seconds.map { second in
      let failure = RetryState.Failure(
        error, unresponsiveHost: host, hasAnswered: hasAnswered, isAttended: isAttended)
      let decision = state.failed(failure, at: at(second), using: &generator)
      if host?.since == nil { host?.since = at(second) }
      host?.failures += 1
      return decision != .giveUp
    }
  }

  private static let unknown = TransferError(.dns, "unknown host", isRetryable: true)

  @Test func `A retry count set by the user applies before the first answer too`() {
    let found = retries(at: (1...9).map(Double.init), Self.unknown, isShort: false)
    #expect(found == [Bool](repeating: true, count: 8) + [false])
  }

  @Test func `An unknown host is reported within three seconds if no server has answered yet`() {
    let quick = [1, 1.2, 1.4]
    #expect(retries(at: quick, Self.unknown) == [true, true, false])
    #expect(retries(at: [9, 12.1], Self.unknown) == [true, false])
    let known = retries(at: (1...9).map(Double.init), Self.unknown, hasAnswered: true)
    #expect(known.filter { $0 }.count == 8)
    let unattended = retries(
      at: (1...9).map(Double.init), Self.unknown, isAttended: false, host: HostHealth())
    #expect(unattended.filter { $0 }.count == 8)
  }

  @Test func `Failures of a silent host add up over all transfers only if a person waits`() {
    var host = HostHealth()
    host.failures = 1
    host.since = at(1)
    #expect(retries(at: [1.4, 1.6], Self.unknown, host: host) == [true, false])
    host.failures = 7
    #expect(retries(at: [2], Self.unknown, host: host) == [false])
    host.hasAnswered = true
    #expect(retries(at: [9, 9], Self.unknown, host: host) == [true, false])
    #expect(
      retries(at: (1...9).map(Double.init), Self.unknown, isAttended: false, host: host)
        == Array(repeating: true, count: 8) + [false])
  }

  @Test func `A silent host is retried after at least half the backoff`() {
    var host = HostHealth()
    host.failures = 4
    let error = TransferError(.connect, "refused", isRetryable: true)
    for (bits, delay) in [(0, 4), (UInt64.max, 8)] as [(UInt64, Double)] {
      var generator = Constant(bits: bits)
      var state = RetryState(RetryPolicy(), startedAt: at(0))
      let failure = RetryState.Failure(
        error, unresponsiveHost: host, hasAnswered: true, isAttended: false)
      check(
        state.failed(failure, at: at(0), using: &generator),
        is: .retry(after: .seconds(delay), attempt: 1))
    }
  }

  @Test func `A permanent error is not retried`() {
    var generator = Constant(bits: 0)
    var state = RetryState(RetryPolicy(), startedAt: at(0))
    var failure = RetryState.Failure(
      TransferError(.tls, "certificate expired"), unresponsiveHost: nil, hasAnswered: true,
      isAttended: false)
    failure.progressBytes = 1 << 30
    check(state.failed(failure, at: at(0), using: &generator), is: .giveUp)
  }
}

extension RetryState {
  fileprivate mutating func failed(
    at now: Instant, progressBytes: Int64, remaining: Int64, retryAfter: Duration? = nil,
    using generator: inout some RandomNumberGenerator
  ) -> Decision {
    var failure = Failure()
    failure.progressBytes = progressBytes
    failure.remaining = remaining
    failure.retryAfter = retryAfter
    return failed(failure, at: now, using: &generator)
  }
}
