import HaulCore
import HaulTesting
import NIOConcurrencyHelpers

/// Runs tasks one after the other on the thread that calls `run(until:)`; time passes when all of
/// them wait.
final class VirtualTime: TaskExecutor {
  let clock = ManualClock()
  private let jobs = NIOLockedValueBox<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLockedValue { $0.append(job) }
  }

  /// Runs until that instant.
  func run(until end: Instant) {
    repeat { settle() } while clock.wakeNext(by: end)
  }

  /// Runs everything that can run without time passing.
  func settle() {
    while let job = jobs.withLockedValue({ $0.isEmpty ? nil : $0.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
