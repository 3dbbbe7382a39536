import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Waits for an end that does not come say why.
@Suite(.timeLimit(.minutes(10))) struct WaitErrorTests {
  private func message(_ transfer: Transfer) async -> String {
    if case .failure(let error) = await outcome(transfer) { error.message } else { "" }
  }

  @Test func `A cancelled wait, a shutdown and a removal each have their reason`() async throws {
    try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      let added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      let cancelled = Task { await message(added[0]) }
      cancelled.cancel()
      #expect(await cancelled.value.hasSuffix("was cancelled"))
      // This wait begins before the removal, the next one most likely after it.
      let removed = Task.immediate { await message(added[1]) }
      let late = Task { await message(added[1]) }
      try await added[1].remove()
      for wait in [removed, late] {
        #expect(await wait.value == "the transfer was removed from the list before its end")
      }
      await queue.manager.shutdown()
      #expect(
        await message(added[0]) == "the manager was shut down before the end of the transfer")
    }
  }

  @Test func `A removed dependency is not to be retried`() async throws {
    try await QueueFixture.with([.plain("b")]) { queue in
      let gone = try await queue.manager.add(queue.request("gone"))
      #expect(await code(gone) == .notFound)
      var dependent = try queue.request("b")
      dependent.after = [gone.id]
      let b = try await queue.manager.add(dependent)
      #expect(await message(b).contains("retry that one"))
      try await gone.remove()
      let message = await message(b)
      #expect(message.contains("removed before it completed") && !message.contains("retry"))
    }
  }
}
