import HaulCore
import Testing

/// The attempts of a download.
@Suite struct DownloadAttemptsTests {
  private let lost = TransferError(.connectionLost, "lost", isRetryable: true)
  private var attempts: DownloadAttempts

  init() {
    var random = SplitMix64(seed: 1)
    var policy = RetryPolicy()
    policy.retries = 2
    attempts = DownloadAttempts(policy, isAttended: false, now: Instant(), using: &random)
  }

  /// The number of the retry; nil if it gives up.
  private mutating func fail(received: Int64 = 0, isKept: Bool = true) -> Int? {
    let decision = attempts.failed(
      lost, unresponsiveHost: nil, received: received, of: 1 << 30, isKept: isKept, at: Instant())
    guard case .retry(_, let attempt) = decision else { return nil }
    return attempt
  }

  @Test func `It awaits an attempt after each failure until it gives up`() {
    var script = self
    #expect([script.fail(), script.fail()] == [1, 2])
    #expect(script.attempts.isWaiting)
    script.attempts.isWaiting = false
    let third = script.fail()
    #expect(third == nil)
    #expect(!script.attempts.isWaiting)
    #expect(script.attempts.failures == 2)
  }

  @Test func `Bytes that are kept are progress, but only those since the last failure`() {
    var script = self
    let step = RetryPolicy.progressThatCounts
    #expect([script.fail(received: step), script.fail(received: step * 2)] == [1, 1])
    #expect([script.fail(received: step * 2)] == [2])
    script.attempts.forgetProgress()
    #expect([script.fail(received: step)] == [1])
  }

  @Test func `Bytes that must be fetched again are none`() {
    var script = self
    let received = RetryPolicy.progressThatCounts
    #expect([script.fail(received: received, isKept: false), script.fail()] == [1, 2])
  }

  @Test func `Bytes belong to the attempt in which they came`() {
    var attempts = attempts
    #expect(!attempts.hasDelivered)
    attempts.noteDelivery()
    #expect(attempts.hasDelivered)
    attempts.begin()
    #expect(!attempts.hasDelivered)
  }
}
