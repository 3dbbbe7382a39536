/// Returns once `condition` is met. The time limit of the test ends it, because a loop that only
/// yields would continue for ever.
func until(_ condition: () async throws -> Bool) async throws {
  while try await !condition() {
    try Task.checkCancellation()
    await Task.yield()
  }
}
