import HaulLibC
import NIOPosix

/// Returns once `condition` is met.
///
/// Between two looks a thread outside the pool of tasks has a turn: a task that only yields may get
/// the pool back again and again, and what the condition waits for then never runs.
/// - Throws: `CancellationError` once the task is cancelled, as the time limit of a test does.
package func until(_ condition: () async throws -> Bool) async throws {
  while try await !condition() {
    try Task.checkCancellation()
    try await turns.runIfActive { _ = sched_yield() }
  }
}

private let turns: NIOThreadPool = {
  let pool = NIOThreadPool(numberOfThreads: 1)
  pool.start()
  return pool
}()
