import Synchronization

/// Where another thread leaves what a task waits for: once.
///
/// A continuation with a mark beside it, for the thread sanitizer only. The runtime does not tell
/// it of a continuation that is resumed before its task waits, so what came that way looks like a
/// race.
package struct OneShot<Value: Sendable>: Sendable {
  private final class Mark: Sendable {
    let isSet = Atomic(false)
  }

  private let continuation: CheckedContinuation<Value, Never>
  private let mark: Mark

  /// Waits for what is given to the one that `begin` gets, also when the task is cancelled.
  package static func wait(_ begin: (OneShot) -> Void) async -> Value {
    let mark = Mark()
    let value = await withCheckedContinuation { begin(OneShot(continuation: $0, mark: mark)) }
    _ = mark.isSet.load(ordering: .acquiring)
    return value
  }

  package func give(_ value: Value) {
    mark.isSet.store(true, ordering: .releasing)
    continuation.resume(returning: value)
  }
}
