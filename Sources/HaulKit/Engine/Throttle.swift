package import HaulCore
import NIOConcurrencyHelpers
import Synchronization

/// One rate limit that all connections of a manager share, divided among transfers by the weight of
/// their priority.
///
/// One of the waiting tasks, the leader, sleeps until the next grant is due and wakes the others;
/// no other task is needed.
package final class Throttle: Sendable {
  private let queue: NIOLockedValueBox<ThrottleQueue>
  private let limited: Synchronization.Atomic<Bool>
  private let clock: any TransferClock

  /// `rate` in bytes per second; nil for no limit.
  package init(rate: Int64?, clock: any TransferClock) {
    self.clock = clock
    limited = Synchronization.Atomic(rate != nil)
    queue = NIOLockedValueBox(ThrottleQueue(WeightedShare(rate: rate, at: clock.now)))
  }

  package var isLimited: Bool { limited.load(ordering: .relaxed) }

  /// Changes the rate (bytes per second) or removes the limit; waiting tasks use the new rate.
  package func setRate(_ rate: Int64?) {
    limited.store(rate != nil, ordering: .relaxed)
    let now = clock.now
    queue.withLockedValue { $0.setRate(rate, at: now) }.resume()
  }

  /// Waits until some of `bytes` may pass, and returns how many. Callers for one transfer share its
  /// part; callers without a transfer count as one transfer.
  /// - Throws: `CancellationError`.
  package func take(
    upTo bytes: Int, for id: TransferID? = nil, priority: TransferRequest.Priority = .default
  ) async throws -> Int {
    guard isLimited, bytes > 0 else { return bytes }
    let now = clock.now
    let (ticket, first, wakes) = queue.withLockedValue {
      $0.ask(upTo: bytes, for: id, weight: priority.weight, at: now)
    }
    wakes.resume()
    var part = first
    while true {
      switch part {
      case .granted(let bytes): return bytes
      case .withdrawn: throw CancellationError()
      case .follow: part = await follow(ticket)
      case .lead(let instant): part = await lead(ticket, from: instant)
      }
    }
  }

  /// Waits to be resumed.
  private func follow(_ ticket: WeightedShare.Ticket) async -> ThrottleQueue.Part {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let now = clock.now
        let part = queue.withLockedValue { $0.follow(ticket, continuation, at: now) }
        if let part { continuation.resume(returning: part) }
      }
    } onCancel: {
      let now = clock.now
      queue.withLockedValue { $0.withdraw(ticket, at: now) }.resume()
    }
  }

  /// Sleeps for all waiting tasks, and resumes each when its grant is due.
  private func lead(
    _ ticket: WeightedShare.Ticket, from instant: Instant
  ) async -> ThrottleQueue.Part {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.serve(from: instant, as: ticket) }
      let part = await follow(ticket)
      group.cancelAll()
      return part
    }
  }

  private func serve(from instant: Instant, as leader: WeightedShare.Ticket) async {
    var instant = instant
    // A sleep is cut short only when the leader was resumed: another task leads then.
    while (try? await clock.sleep(until: instant)) != nil {
      let now = clock.now
      let (next, wakes) = queue.withLockedValue { $0.serve(as: leader, at: now) }
      wakes.resume()
      guard let next else { return }
      instant = next
    }
  }
}
