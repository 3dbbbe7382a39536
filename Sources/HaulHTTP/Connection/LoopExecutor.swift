import NIOCore
import NIOPosix

/// Runs tasks on the thread of an event loop. A connection and its transfer then share a thread, so
/// messages between them wake no other thread. Blocking calls go through `BlockingIO`.
package final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  private init(_ loop: any EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// One for each event loop with connections; they are never shut down.
  package static let all = MultiThreadedEventLoopGroup.singleton.makeIterator().map {
    LoopExecutor($0)
  }
}
