package import HaulCore
import NIOConcurrencyHelpers

/// The keys of roles, which all transfers of a manager share.
package final class S3KeyCache: Sendable {
  private struct Entry {
    var state = S3KeyState()
    /// Transfers that wait while another one asks.
    var waiting: [AsyncStream<TransferError>.Continuation] = []
  }

  private let entries = NIOLockedValueBox<[S3KeySource: Entry]>([:])
  private let clock: any TransferClock
  private let ask: @Sendable (S3KeySource) async throws -> S3Keys

  package init(
    clock: any TransferClock, ask: @escaping @Sendable (S3KeySource) async throws -> S3Keys
  ) {
    (self.clock, self.ask) = (clock, ask)
  }

  /// Keys that are valid now.
  /// - Throws: why there are none; `CancellationError` if the task was cancelled.
  package func keys(of source: S3KeySource) async throws -> S3Credentials {
    while true {
      try Task.checkCancellation()
      let (waits, wait) = AsyncStream.makeStream(of: TransferError.self)
      let step = entries.withLockedValue { entries in
        let step = entries[source, default: Entry()].state.next(at: clock.wallSeconds)
        if step == .wait { entries[source]?.waiting.append(wait) }
        return step
      }
      switch step {
      case .use(let keys): return keys.credentials
      case .ask: return try await askNow(source)
      case .wait: for await error in waits { throw error }
      }
    }
  }

  /// The store says that these have expired, or that it does not know them.
  func refused(_ keys: S3Credentials, of source: S3KeySource) {
    entries.withLockedValue { $0[source]?.state.refused(keys) }
  }

  /// The store refuses a request that these signed.
  func doubted(_ keys: S3Credentials, of source: S3KeySource) {
    entries.withLockedValue { $0[source]?.state.doubted(keys, at: clock.wallSeconds) }
  }

  private func askNow(_ source: S3KeySource) async throws -> S3Credentials {
    let answer: Result<S3Keys, any Error>
    do {
      answer = .success(try await ask(source))
    } catch {
      // What a stopped request says is no answer of the source.
      answer = .failure(Task.isCancelled ? CancellationError() : error)
    }
    let (result, waiting) = entries.withLockedValue { entries in
      var entry = entries[source] ?? Entry()
      let result = entry.state.ended(answer, at: clock.wallSeconds)
      entries[source] = Entry(state: entry.state)
      return (result, entry.waiting)
    }
    for one in waiting {
      if case .failure(let error as TransferError) = result { one.yield(error) }
      one.finish()
    }
    return try result.get().credentials
  }
}
