/// Returns once `condition` holds. A test's time limit ends it: a loop that only yields would go on
/// for ever.
func until(_ condition: () async throws -> Bool) async throws {
  while try await !condition() {
    try Task.checkCancellation()
    await Task.yield()
  }
}
