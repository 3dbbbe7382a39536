import HaulLibC
import NIOConcurrencyHelpers

/// Runs jobs one at a time on the calling thread, in an order that a seed decides. A pool of
/// threads might run them in the same order.
package final class SeededExecutor: TaskExecutor {
  private struct State {
    var random: SimulationRandom
    var jobs: [UnownedJob] = []
    var owner: UInt?
    var foreignJobs = 0
  }

  private let state: NIOLockedValueBox<State>

  package init(seed: UInt64) {
    state = NIOLockedValueBox(State(random: SimulationRandom(seed: seed)))
  }

  /// Jobs that came from another thread than the running one; after the first, the order no longer
  /// depends on the seed alone.
  package var foreignJobs: Int { state.withLockedValue { $0.foreignJobs } }

  /// Whether no job is ready.
  package var isIdle: Bool { state.withLockedValue { $0.jobs.isEmpty } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let (job, thread) = (UnownedJob(job), Self.thread)
    state.withLockedValue { state in
      if let owner = state.owner, owner != thread { state.foreignJobs += 1 }
      state.jobs.append(job)
    }
  }

  /// Runs one ready job; false if there is none.
  package func runOne() -> Bool {
    let thread = Self.thread
    let job: UnownedJob? = state.withLockedValue { state in
      state.owner = thread
      guard !state.jobs.isEmpty else { return nil }
      // Mostly in order, as a pool does.
      let takesOldest = state.jobs.count == 1 || state.random.oneIn(2)
      return state.jobs.remove(at: takesOldest ? 0 : state.random.below(state.jobs.count))
    }
    guard let job else { return false }
    job.runSynchronously(on: asUnownedTaskExecutor())
    return true
  }

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
