package import HaulCore
import NIOConcurrencyHelpers
import Synchronization

/// One rate limit that all connections of a manager share, divided among transfers by the weight of
/// their priority.
///
/// One of the waiting tasks, the leader, sleeps until the next grant is due and wakes the others,
/// so no timer task is needed.
package final class Throttle: Sendable {
  private let queue: NIOLockedValueBox<ThrottleQueue>
  private let limited: Synchronization.Atomic<Bool>
  private let clock: any TransferClock

  /// `rate` in bytes per second; nil or 0 for no limit.
  package init(rate: Int64?, clock: any TransferClock) {
    let rate = Self.limit(rate)
    self.clock = clock
    limited = Synchronization.Atomic(rate != nil)
    queue = NIOLockedValueBox(ThrottleQueue(rate: rate, at: clock.now))
  }

  private static func limit(_ rate: Int64?) -> Int64? { rate.flatMap { $0 > 0 ? $0 : nil } }

  /// In bytes per second, without that of a window of the schedule; nil for no limit.
  var rate: Int64? { queue.withLockedValue(\.limits.rate) }

  package var isLimited: Bool { limited.load(ordering: .relaxed) }

  /// Changes the rate (bytes per second) or removes the limit; waiting tasks use the new rate.
  package func setRate(_ rate: Int64?) { change { $0.rate = Self.limit(rate) } }

  /// The same for the rate that the open window of the schedule allows. The lower one counts.
  func setWindowRate(_ rate: Int64?) { change { $0.window = Self.limit(rate) } }

  private func change(_ change: (inout ThrottleQueue.Limits) -> Void) {
    let now = clock.now
    queue.withLockedValue { queue in
      let wakes = queue.changeLimits(at: now, change)
      limited.store(queue.limits.lowest != nil, ordering: .relaxed)
      return wakes
    }
    .resume()
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
    var role = first
    while true {
      switch role {
      case .granted(let bytes): return bytes
      case .withdrawn: throw CancellationError()
      case .follow: role = await follow(ticket)
      case .lead(let instant): role = await lead(ticket, from: instant)
      }
    }
  }

  /// Waits to be resumed.
  private func follow(_ ticket: RateFairQueue.Ticket) async -> ThrottleQueue.Role {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let now = clock.now
        let role = queue.withLockedValue { $0.follow(ticket, continuation, at: now) }
        if let role { continuation.resume(returning: role) }
      }
    } onCancel: {
      let now = clock.now
      queue.withLockedValue { $0.withdraw(ticket, at: now) }.resume()
    }
  }

  /// Sleeps for all waiting tasks, and resumes each when its grant is due.
  private func lead(
    _ ticket: RateFairQueue.Ticket, from instant: Instant
  ) async -> ThrottleQueue.Role {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.serve(from: instant, as: ticket) }
      let role = await follow(ticket)
      group.cancelAll()
      return role
    }
  }

  private func serve(from instant: Instant, as leader: RateFairQueue.Ticket) async {
    var instant = instant
    // A sleep ends early only when the leader was resumed: then another task leads.
    while (try? await clock.sleep(until: instant)) != nil {
      let now = clock.now
      let (next, wakes) = queue.withLockedValue { $0.serve(as: leader, at: now) }
      wakes.resume()
      guard let next else { return }
      instant = next
    }
  }
}
