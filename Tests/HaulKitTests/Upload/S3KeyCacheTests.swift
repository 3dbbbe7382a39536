import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Who asks for keys, and who waits.
@Suite(.timeLimit(.minutes(10))) struct S3KeyCacheTests {
  private static let source = S3KeySource(.container, region: "r")

  /// A source that answers when the test says so.
  private final class Source: Sendable {
    typealias Answer = Result<S3Keys, any Error>

    private let waiting = NIOLockedValueBox<[CheckedContinuation<S3Keys, any Error>]>([])
    private let count = NIOLockedValueBox(0)

    var asked: Int { count.withLockedValue { $0 } }

    func ask() async throws -> S3Keys {
      try await withCheckedThrowingContinuation { continuation in
        waiting.withLockedValue { $0.append(continuation) }
        count.withLockedValue { $0 += 1 }
      }
    }

    func answer(_ answer: Answer) {
      let all = waiting.withLockedValue { waiting in
        defer { waiting = [] }
        return waiting
      }
      for continuation in all { continuation.resume(with: answer) }
    }

    func give(_ id: String, until expiry: Double) {
      answer(
        .success(S3Keys(S3Credentials(accessKeyID: id, secretAccessKey: "s"), expiry: expiry)))
    }
  }

  private static func cache(_ source: Source, _ clock: ManualClock) -> S3KeyCache {
    S3KeyCache(clock: clock) { _ in try await source.ask() }
  }

  private static func task(_ cache: S3KeyCache) -> Task<String, any Error> {
    Task { try await cache.keys(of: source).accessKeyID }
  }

  @Test func `One asks for all`() async throws {
    let (source, clock) = (Source(), ManualClock())
    let cache = Self.cache(source, clock)
    let tasks = (0..<8).map { _ in Self.task(cache) }
    try await until { source.asked == 1 }
    source.give("a", until: 3600)
    for task in tasks { #expect(try await task.value == "a") }
    #expect(source.asked == 1)
  }

  @Test func `Keys that are about to expire are used while new ones are asked for`() async throws {
    let (source, clock) = (Source(), ManualClock())
    let cache = Self.cache(source, clock)
    let first = Self.task(cache)
    try await until { source.asked == 1 }
    source.give("a", until: 3600)
    #expect(try await first.value == "a")
    clock.advance(by: .seconds(3400))
    let asking = Self.task(cache)
    try await until { source.asked == 2 }
    #expect(try await Self.task(cache).value == "a")
    source.give("b", until: 7200)
    #expect(try await asking.value == "b")
    #expect(try await Self.task(cache).value == "b")
    #expect(source.asked == 2)
  }

  @Test func `Those who wait learn why there are no keys`() async throws {
    let (source, clock) = (Source(), ManualClock())
    let cache = Self.cache(source, clock)
    let first = Self.task(cache)
    try await until { source.asked == 1 }
    let others = (0..<3).map { _ in Self.task(cache) }
    let error = TransferError(.unauthorized, "no")
    // One that comes too late to wait asks itself.
    let answering = Task {
      try await until {
        source.answer(.failure(error))
        return false
      }
    }
    defer { answering.cancel() }
    for task in [first] + others {
      await #expect(throws: error) { try await task.value }
    }
  }

  @Test func `Who is stopped leaves the question to another, and who waits can be stopped`()
    async throws
  {
    let (source, clock) = (Source(), ManualClock())
    let cache = Self.cache(source, clock)
    let first = Self.task(cache)
    try await until { source.asked == 1 }
    let (second, third) = (Self.task(cache), Self.task(cache))
    third.cancel()
    await #expect(throws: CancellationError.self) { try await third.value }
    first.cancel()
    source.answer(.failure(CancellationError()))
    await #expect(throws: CancellationError.self) { try await first.value }
    try await until { source.asked == 2 }
    source.give("b", until: 3600)
    #expect(try await second.value == "b")
  }
}
