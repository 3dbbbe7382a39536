import Synchronization

/// A value that another thread gives to a waiting task, once.
///
/// The thread sanitizer does not see that `resume` happens before the task continues. The flag
/// shows it.
package struct OneShot<Value: Sendable>: Sendable {
  private final class SanitizerFlag: Sendable {
    let isSet = Atomic(false)
  }

  private let continuation: CheckedContinuation<Value, Never>
  private let flag: SanitizerFlag

  /// Passes a `OneShot` to `begin`, and returns the value given to it. Cancellation does not end
  /// the wait.
  package static func wait(_ begin: (OneShot) -> Void) async -> Value {
    let flag = SanitizerFlag()
    let value = await withCheckedContinuation { begin(OneShot(continuation: $0, flag: flag)) }
    _ = flag.isSet.load(ordering: .acquiring)
    return value
  }

  package func give(_ value: Value) {
    flag.isSet.store(true, ordering: .releasing)
    continuation.resume(returning: value)
  }
}
