/// A setting that may change while a job uses it.
package struct NewestSetting<Value: Sendable>: Sendable {
  private let values: AsyncStream<Value>
  private let continuation: AsyncStream<Value>.Continuation

  package init(_ first: Value) {
    (values, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    continuation.yield(first)
  }

  package func set(_ value: Value) { continuation.yield(value) }

  /// Calls `job` with the setting. Once that changes, the call is cancelled, and the next one
  /// begins when it has ended. Returns after this task was cancelled; call it once.
  package func run(_ job: @escaping @Sendable (Value) async -> Void) async {
    var running: Task<Void, Never>?
    for await value in values {
      running?.cancel()
      await running?.value
      running = Task { await job(value) }
    }
    running?.cancel()
    await running?.value
  }
}
