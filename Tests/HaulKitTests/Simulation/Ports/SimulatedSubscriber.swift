import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// A subscriber that reads events at its own pace. It checks that each state change comes once, in
/// order, as stored.
final class SimulatedSubscriber: Sendable {
  private struct State {
    /// The number of the last state change that was read.
    var last: Int?
    var hasEnded = false
  }

  let number: Int
  let isSlow: Bool
  /// The last stored state change when it subscribed.
  private let start: Int
  private let state = NIOLockedValueBox(State())
  private let ledger: SharedLedger

  init(number: Int, isSlow: Bool, ledger: SharedLedger) {
    self.number = number
    self.isSlow = isSlow
    self.ledger = ledger
    start = ledger.withLockedValue { $0.log.count }
  }

  var hasEnded: Bool { state.withLockedValue { $0.hasEnded } }

  func read(_ events: TransferEvents, _ process: SimulatedProcess) async {
    for await event in events {
      guard !process.store.isDead else { return }
      note(event)
      guard isSlow else { continue }
      let pause = Duration.milliseconds(process.random.below(400))
      // The events of a dead process are not read any more.
      try? await process.clock.wait(pause)
    }
    state.withLockedValue { $0.hasEnded = true }
  }

  private func note(_ event: TransferEvent) {
    ledger.withLockedValue { ledger in
      guard let reported = event.number else {
        if case .progress = event.kind { return }
        return ledger.note("reported to \(number): \(ledger.name(event.id)) \(event.kind.word)")
      }
      ledger.note("reported to \(number): #\(reported) \(ledger.name(event.id)) \(event.kind.word)")
      let last = state.withLockedValue { state in
        defer { state.last = reported }
        return state.last
      }
      if let last, reported != last + 1 {
        ledger.violate("subscriber \(number) received \(reported) after \(last)")
      }
      if last == nil, reported > start + 1 {
        ledger.violate(
          "subscriber \(number) first received \(reported), \(start) were stored before")
      }
      guard reported <= ledger.log.count, ledger.log[reported - 1].isAs(event) else {
        return ledger.violate(
          "subscriber \(number) received \(reported) otherwise than it was stored")
      }
    }
  }

  /// Checks that everything that was stored since the subscription was reported; call it when the
  /// manager is at rest.
  func checkComplete() {
    ledger.withLockedValue { ledger in
      let last = state.withLockedValue { $0.last } ?? start
      if last != ledger.log.count {
        ledger.violate("subscriber \(number) received \(last) of \(ledger.log.count)")
      }
    }
  }
}

extension StoredEvent {
  fileprivate func isAs(_ event: TransferEvent) -> Bool { id == event.id && kind == event.kind }
}
