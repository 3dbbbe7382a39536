extension Engine {
  /// Starts a task that calls an actor. If the caller then calls that actor, its call comes later.
  func begin<Result: Sendable>(
    _ body: @escaping @Sendable () async -> Result
  ) -> Task<Result, Never> {
    // The call is in the actor's queue when this returns; a normal task would enqueue it later.
    if #available(macOS 26.0, iOS 26.0, *) {
      return Task.immediate(executorPreference: soleExecutor) { await body() }
    }
    return Task(executorPreference: soleExecutor) { await body() }
  }
}
