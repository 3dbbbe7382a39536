import HaulKit
import Testing

@Suite struct ContinuationListTests {
  /// As the manager waits: it looks at what it keeps, and waits when that is not there yet.
  private actor Desk {
    private let list = ContinuationList<Int, Int>()
    private var isExpecting = false

    func next() async -> Int? {
      isExpecting = true
      defer { isExpecting = false }
      return await list.valueUnlessCancelled(for: 0)
    }

    /// False while nobody has looked.
    func tell(_ value: Int) -> Bool {
      guard isExpecting else { return false }
      list.resume(0, value)
      return true
    }

    /// Frees one that missed it; false when nobody waits any more.
    func free() -> Bool {
      list.resumeAll(-1)
      return isExpecting
    }
  }

  @Test func `What is told at the moment when one begins to wait is not missed`() async {
    let desk = Desk()
    for turn in 0..<20_000 {
      async let value = desk.next()
      while await !desk.tell(turn) { await Task.yield() }
      while await desk.free() { await Task.yield() }
      #expect(await value == turn)
    }
  }
}
