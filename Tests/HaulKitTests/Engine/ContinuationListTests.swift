import HaulKit
import HaulTesting
import Testing

@Suite struct ContinuationListTests {
  /// Waits like the manager: it checks a value, and waits if there is none yet.
  private actor ValueWaiter {
    private let list = ContinuationList<Int, Int>()
    private var isExpecting = false

    func next() async -> Int? {
      isExpecting = true
      defer { isExpecting = false }
      return await list.valueUnlessCancelled(for: 0)
    }

    /// False if no task expects a value.
    func tell(_ value: Int) -> Bool {
      guard isExpecting else { return false }
      list.resume(0, value)
      return true
    }

    /// Releases a waiter that missed its value; false if none waits any more.
    func free() -> Bool {
      list.resumeAll(-1)
      return isExpecting
    }
  }

  @Test func `A value that arrives while a waiter is being added is delivered`() async throws {
    let desk = ValueWaiter()
    for turn in 0..<20_000 {
      async let value = desk.next()
      try await until { await desk.tell(turn) }
      try await until { await !desk.free() }
      #expect(await value == turn)
    }
  }
}
