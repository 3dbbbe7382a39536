import NIOConcurrencyHelpers

/// Lets one piece of work of many be stopped.
struct StopSignal: Sendable {
  private let stream: AsyncStream<Never>
  private let continuation: AsyncStream<Never>.Continuation
  private let flag = NIOLockedValueBox(false)

  init() { (stream, continuation) = AsyncStream.makeStream() }

  var isStopped: Bool { flag.withLockedValue { $0 } }

  func stop() {
    flag.withLockedValue { $0 = true }
    continuation.finish()
  }

  /// Returns when told to stop, or when the task is cancelled.
  func wait() async {
    for await _ in stream {}
  }
}
