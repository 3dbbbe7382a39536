import NIOCore
import NIOPosix

/// Runs tasks on the thread of an event loop: a connection and the transfer that uses it then share
/// a thread, and what one tells the other wakes up nobody. What may block goes through
/// `BlockingIO`.
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
}
