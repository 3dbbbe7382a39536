import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Runs tasks on the thread of an event loop: what a connection of that loop receives is dealt with where it arrives, while
/// it is still in the processor's cache, and nobody is woken.
package final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  private init(_ loop: any EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// One for each event loop that connections run on; they are never shut down.
  package static let all = MultiThreadedEventLoopGroup.singleton.makeIterator().map {
    LoopExecutor($0)
  }

  /// The one of the thread that this is called on.
  static var current: LoopExecutor? { all.first { $0.loop.inEventLoop } }
}

/// The executors in turn.
struct LoopExecutors: Sendable {
  private let turn = NIOLockedValueBox(0)

  func next() -> LoopExecutor {
    turn.withLockedValue { turn in
      turn = (turn + 1) % LoopExecutor.all.count
      return LoopExecutor.all[turn]
    }
  }
}
