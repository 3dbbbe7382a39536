import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// Obstacles for all transfers, which come and go: a full disk, a missing network, or a host that
/// does not answer.
extension QueueWorld {
  /// One of so many worlds has such obstacles.
  static let faultyOneIn = 3

  /// Decides again which obstacles there are. It has its own generator, so that other worlds do not
  /// change.
  func causeFault() {
    guard plan.hasFaults, var random = faults else { return }
    let (isUp, isFull) = (isHarmless || !random.oneIn(4), !isHarmless && random.oneIn(3))
    let capacity = isFull ? random.below(120 << 10) : nil
    let unreachableHost = !isHarmless && random.oneIn(3) ? "h\(random.below(3))" : nil
    faults = random
    process.transport.network.isUp = isUp
    machine.setCapacity(capacity)
    servers.behaviours.unreachableHost = unreachableHost
    ledger.withLockedValue { ledger in
      if !isUp || isFull { ledger.causesWaits = true }
      ledger.note(
        "network \(isUp), room \(capacity.map { "\($0)" } ?? "enough"), away \(unreachableHost ?? "nobody")"
      )
    }
  }
}
