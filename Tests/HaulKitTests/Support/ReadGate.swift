import NIOConcurrencyHelpers

/// Blocks the threads that read a part file, until the test opens it.
final class ReadGate: Sendable {
  private let lock = ConditionLock(value: false)
  private let waiting = NIOLockedValueBox(0)

  /// The number of blocked threads.
  var held: Int { waiting.withLockedValue { $0 } }

  func pass() {
    waiting.withLockedValue { $0 += 1 }
    lock.lock(whenValue: true)
    lock.unlock()
    waiting.withLockedValue { $0 -= 1 }
  }

  func open() { set(true) }
  func close() { set(false) }

  private func set(_ isOpen: Bool) {
    lock.lock()
    lock.unlock(withValue: isOpen)
  }
}
