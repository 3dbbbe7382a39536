package import HaulCore
import NIOConcurrencyHelpers
package import NIOPosix

/// Runs file system calls, which may block, on a bounded pool of threads. Other code must not
/// block.
package struct BlockingIO: Sendable {
  private let pool: NIOThreadPool?
  private let diskLatency: DiskLatency?
  private var waitsInPlace = false

  /// Runs calls on the threads of a started pool. Without a `clock`, no call runs in place.
  package init(pool: NIOThreadPool = .singleton, clock: (any TransferClock)? = nil) {
    self.pool = pool
    diskLatency = clock.map { DiskLatency(clock: $0) }
  }

  private init(withoutPool: Void) {
    pool = nil
    diskLatency = nil
  }

  /// Runs calls on the calling thread; for simulations, where no disk blocks.
  package static let withoutThreads = BlockingIO(withoutPool: ())

  /// The same, but calls run on the calling thread while the disk is fast. Use it on a thread
  /// without urgent work. A change of threads takes longer than a write into the page cache.
  package var inPlace: BlockingIO {
    var other = self
    other.waitsInPlace = diskLatency != nil
    return other
  }

  /// Runs `body` on a helper thread. Cancelling the task does not end the wait: a started disk
  /// operation must finish, and its result must be known.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    guard let pool else { return try body() }
    if let value = try runInPlace(body) { return value }
    return try await OneShot<Result<Value, TransferError>>.wait { oneShot in
      pool.submit { state in
        oneShot.give(
          Result { () throws(TransferError) in
            guard case .active = state else {
              throw TransferError(.cancelled, "the file threads have been stopped")
            }
            return try body()
          })
      }
    }.get()
  }
}

extension BlockingIO {
  /// Calls `body` with each number below `count`, here and on idle helper threads. Call it on a
  /// helper thread; it returns when every call has returned.
  package func forEach(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let calls = ParallelCalls(count, body)
    if let pool {
      for _ in 0..<max(0, min(Self.maximumHelpers, count - 1)) {
        // If this thread starts too late or never, the others do its work.
        pool.submit { state in if case .active = state { calls.work() } }
      }
    }
    calls.work()
    calls.waitForOthers()
  }

  private static let maximumHelpers = 3

  /// Starts `body` on a helper thread, without waiting for it.
  /// - Parameter body: its argument is true if the threads were stopped; then it must not use the
  ///   disk.
  package func start(_ body: @escaping @Sendable (_ isStopped: Bool) -> Void) {
    guard let pool else { return body(false) }
    pool.submit { state in
      switch state {
      case .active: body(false)
      case .cancelled: body(true)
      }
    }
  }

  /// The result of `body` if calls run in place and the disk is fast; otherwise nil, without a
  /// call.
  package func runInPlace<Value>(
    _ body: () throws(TransferError) -> Value
  ) throws(TransferError) -> Value? {
    guard waitsInPlace, let diskLatency, let began = diskLatency.nowIfFast else { return nil }
    return try diskLatency.timing(body, since: began)
  }
}

/// Calls that several threads share.
private final class ParallelCalls: Sendable {
  private let count: Int
  private let body: @Sendable (Int) -> Void
  private let next = NIOLockedValueBox(0)
  private let ended = NIOLockedValueBox(0)
  private let isOver: ConditionLock<Bool>

  init(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    self.count = count
    self.body = body
    isOver = ConditionLock(value: count == 0)
  }

  /// Makes calls until all have started.
  func work() {
    while let number = take() {
      body(number)
      let isLast = ended.withLockedValue { ended in
        ended += 1
        return ended == count
      }
      guard isLast else { continue }
      isOver.lock()
      isOver.unlock(withValue: true)
    }
  }

  private func take() -> Int? {
    next.withLockedValue { next in
      guard next < count else { return nil }
      defer { next += 1 }
      return next
    }
  }

  func waitForOthers() {
    isOver.lock(whenValue: true)
    isOver.unlock()
  }
}
