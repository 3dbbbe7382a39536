import NIOConcurrencyHelpers

/// Blocks the threads that read a part file, until the test opens it.
final class ReadGate: Sendable {
  private let lock = ConditionLock(value: false)
  private let waiting = NIOLockedValueBox(0)
  private let isOpen = NIOLockedValueBox(false)

  /// The number of blocked threads.
  var held: Int { waiting.withLockedValue { $0 } }

  func pass() {
    waiting.withLockedValue { $0 += 1 }
    lock.lock(whenValue: true)
    lock.unlock(withValue: isOpen.withLockedValue { $0 })
    waiting.withLockedValue { $0 -= 1 }
  }

  func open() { set(true) }
  func close() { set(false) }

  /// Opens it for one read.
  func letOnePass() {
    lock.lock()
    lock.unlock(withValue: true)
  }

  private func set(_ value: Bool) {
    lock.lock()
    isOpen.withLockedValue { $0 = value }
    lock.unlock(withValue: value)
  }
}
