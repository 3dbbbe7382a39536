import Synchronization

/// A value that another thread gives to a waiting task, once.
///
/// The flag is only for the thread sanitizer, which otherwise reports a race: the runtime does not
/// show it that a continuation was resumed before its task waits.
package struct OneShot<Value: Sendable>: Sendable {
  private final class SanitizerFlag: Sendable {
    let isSet = Atomic(false)
  }

  private let continuation: CheckedContinuation<Value, Never>
  private let flag: SanitizerFlag

  /// Waits for the value given to the `OneShot` that `begin` gets, even if the task is cancelled.
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
