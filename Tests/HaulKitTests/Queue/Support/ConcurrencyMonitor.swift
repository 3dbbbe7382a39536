import HaulTesting
import NIOConcurrencyHelpers

/// Detects every moment at which a server answers more requests than allowed.
final class ConcurrencyMonitor: Sendable {
  private struct State {
    var hasBegun = false
    var isOver = false
    /// The numbers of requests that were answered at the same time.
    var concurrentSets: Set<Set<Int>> = []
  }

  private let server: FaultServer
  private let limit: Int
  private let state = NIOLockedValueBox(State())

  init(_ server: FaultServer, limit: Int) {
    self.server = server
    self.limit = limit
  }

  /// Watches while `body` runs.
  func watch<Value>(during body: () async throws -> Value) async throws -> Value {
    let (server, limit, state) = (server, limit, state)
    let watching = Task {
      // The condition is checked with every change of the server. A test ends long before this
      // timeout.
      try await server.waitUntil(timeout: .seconds(3600)) { Self.note($0, limit, state) }
    }
    let value: Value
    do {
      try await until { state.withLockedValue { $0.hasBegun } }
      value = try await body()
    } catch {
      await end(watching)
      throw error
    }
    await end(watching)
    return value
  }

  /// The most of these requests, and of their files, answered at once; 0 if the limit was never
  /// exceeded.
  func most(of requests: [RequestRecord]) -> (requests: Int, files: Int) {
    let concurrentSets = state.withLockedValue { state in
      state.concurrentSets.map { crowd in requests.filter { crowd.contains($0.number) } }
    }
    return (
      concurrentSets.map(\.count).max() ?? 0,
      concurrentSets.map { Set($0.map(\.path)).count }.max() ?? 0
    )
  }

  private func end(_ watching: Task<Void, any Error>) async {
    state.withLockedValue { $0.isOver = true }
    // No answer has this path, so this changes nothing.
    server.release("")
    _ = await watching.result
  }

  private static func note(
    _ snapshot: FaultServerSnapshot, _ limit: Int, _ state: NIOLockedValueBox<State>
  ) -> Bool {
    let isOverLimit = snapshot.total.inProgress > limit
    let crowd = isOverLimit ? snapshot.requests.filter { $0.outcome == nil }.map(\.number) : []
    return state.withLockedValue { state in
      state.hasBegun = true
      if isOverLimit { state.concurrentSets.insert(Set(crowd)) }
      return state.isOver
    }
  }
}
