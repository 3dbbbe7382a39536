import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

@Suite struct ThrottleTests {
  private let time = VirtualTime()
  private let ids: [TransferID]

  init() {
    var generator = SystemRandomNumberGenerator()
    ids = (0..<5).map { _ in TransferID(using: &generator) }
  }

  /// The number of bytes that each transfer took.
  private final class Tally: Sendable {
    private let bytes = NIOLockedValueBox<[TransferID: Int]>([:])

    func add(_ count: Int, of id: TransferID) {
      bytes.withLockedValue { $0[id, default: 0] += count }
    }

    subscript(id: TransferID) -> Int { bytes.withLockedValue { $0[id] ?? 0 } }
  }

  /// Takes as many bytes as it may, for ever.
  private func taker(
    _ throttle: Throttle, _ id: TransferID, _ priority: TransferRequest.Priority, _ tally: Tally
  ) -> Task<Void, Never> {
    Task(executorPreference: time) {
      while let count = try? await throttle.take(upTo: 64 << 10, for: id, priority: priority) {
        tally.add(count, of: id)
      }
    }
  }

  @Test func `Running transfers share the limit by the weights of their priorities`() {
    let throttle = Throttle(rate: 4 << 20, clock: time.clock)
    let tally = Tally()
    let tasks = zip(ids, TransferRequest.Priority.allCases).flatMap { id, priority in
      // The lowest priority has the most connections, which makes no difference.
      (0..<(priority == .background ? 6 : 2)).map { _ in taker(throttle, id, priority, tally) }
    }
    time.run(until: Instant(.seconds(60)))
    for (id, priority) in zip(ids, TransferRequest.Priority.allCases) {
      let wanted = Double(4 << 20) * 60 * Double(priority.weight) / 31
      #expect(abs(Double(tally[id]) / wanted - 1) <= 0.05, "\(priority): \(tally[id])")
    }
    for task in tasks { task.cancel() }
    time.settle()
    #expect(throttle.isLimited)
  }

  @Test func `A cancelled taker passes its turn on, even if it holds the timer`() {
    let throttle = Throttle(rate: 1 << 20, clock: time.clock)
    let tally = Tally()
    var tasks = ids.map { taker(throttle, $0, .default, tally) }
    time.run(until: Instant(.seconds(1)))
    while tasks.count > 1 {
      let before = tally[ids[4]]
      tasks.removeFirst().cancel()
      time.run(until: time.clock.now + .seconds(2))
      #expect(tally[ids[4]] > before)
    }
    let before = tally[ids[4]]
    time.run(until: time.clock.now + .seconds(10))
    #expect(abs(Double(tally[ids[4]] - before) / Double(10 << 20) - 1) < 0.02)
    tasks[0].cancel()
    time.settle()
  }

  @Test func `Without a limit everything passes at once, and a limit can be set and removed`()
    async throws
  {
    let throttle = Throttle(rate: nil, clock: time.clock)
    #expect(!throttle.isLimited)
    #expect(try await throttle.take(upTo: 1 << 30) == 1 << 30)
    throttle.setRate(1000)
    let taken = NIOLockedValueBox(0)
    let tasks = (0..<20).map { _ in
      Task(executorPreference: time) {
        let count = try await throttle.take(upTo: 100)
        taken.withLockedValue { $0 += count }
      }
    }
    time.settle()
    #expect(taken.withLockedValue { $0 } == 0)
    time.run(until: Instant(.seconds(1)))
    #expect(taken.withLockedValue { $0 } == 1000)
    throttle.setRate(nil)
    time.settle()
    #expect(taken.withLockedValue { $0 } == 2000)
    for task in tasks { try await task.value }
  }
}
