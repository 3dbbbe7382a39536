import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// What comes in the way of everything, and goes away: a full disk, a network or a host that is not
/// there.
extension QueueWorld {
  /// Of so many worlds one has such times.
  static let faultyOneIn = 3

  /// Decides anew how it is from now on. It has a generator of its own: other worlds are what they
  /// were.
  func causeFault() {
    guard plan.hasFaults, var random = faults else { return }
    let (isUp, isFull) = (isHarmless || !random.oneIn(4), !isHarmless && random.oneIn(3))
    let capacity = isFull ? random.below(120 << 10) : nil
    let awayHost = !isHarmless && random.oneIn(3) ? "h\(random.below(3))" : nil
    faults = random
    process.transport.network.isUp = isUp
    machine.setCapacity(capacity)
    servers.habits.awayHost = awayHost
    ledger.withLockedValue { ledger in
      if !isUp || isFull { ledger.isHindered = true }
      ledger.note(
        "network \(isUp), room \(capacity.map { "\($0)" } ?? "enough"), away \(awayHost ?? "nobody")"
      )
    }
  }
}
