import NIOConcurrencyHelpers

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Runs jobs one at a time on the thread that asks for it, in an order that a seed decides: one of
/// the orders in which a pool of threads might have run them.
package final class SeededExecutor: TaskExecutor {
  private struct State {
    var random: SimulationRandom
    var jobs: [UnownedJob] = []
    var owner: UInt?
    var strangers = 0
  }

  private let state: NIOLockedValueBox<State>

  package init(seed: UInt64) {
    state = NIOLockedValueBox(State(random: SimulationRandom(seed: seed)))
  }

  /// Jobs that came from another thread than the one that runs them: with one, the order is not the
  /// seed's any more.
  package var strangers: Int { state.withLockedValue { $0.strangers } }

  /// Whether nothing can run before something else happens.
  package var isIdle: Bool { state.withLockedValue { $0.jobs.isEmpty } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let (job, thread) = (UnownedJob(job), Self.thread)
    state.withLockedValue { state in
      if let owner = state.owner, owner != thread { state.strangers += 1 }
      state.jobs.append(job)
    }
  }

  /// Runs one job that is ready; false when none is.
  package func runOne() -> Bool {
    let thread = Self.thread
    let job: UnownedJob? = state.withLockedValue { state in
      state.owner = thread
      guard !state.jobs.isEmpty else { return nil }
      // Mostly in turn, as a pool does.
      let isInTurn = state.jobs.count == 1 || state.random.oneIn(2)
      return state.jobs.remove(at: isInTurn ? 0 : state.random.below(state.jobs.count))
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
