import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Runs tasks on the thread of an event loop: what a connection of that loop receives is dealt with where it arrives, while
/// it is still in the processor's cache, and nobody is woken.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// One executor for each event loop of the process, in turn.
struct LoopExecutors: Sendable {
  private let all: [LoopExecutor]
  private let turn = NIOLockedValueBox(0)

  init() {
    all = MultiThreadedEventLoopGroup.singleton.makeIterator().map { LoopExecutor($0) }
  }

  func next() -> LoopExecutor {
    turn.withLockedValue { turn in
      turn = (turn + 1) % all.count
      return all[turn]
    }
  }
}
