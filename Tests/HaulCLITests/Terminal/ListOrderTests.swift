import HaulCLI
import HaulControl
import HaulCore
import Testing

/// The orders of haul list.
@Suite struct ListOrderTests {
  private func sorted(_ names: [String]) throws -> [String] {
    let id = try #require(TransferID("4FZ0ABCD"))
    var transfers = names.map { TransferDocument(id: id, name: $0, state: .queued) }
    ListOrder.name.sort(&transfers)
    return transfers.map(\.name)
  }

  @Test func `names are sorted without regard to case, and numbers by their value`() throws {
    #expect(
      try sorted(["part10", "Z", "part2", "a", "part 1", "part02b"])
        == ["a", "part 1", "part2", "part02b", "part10", "Z"])
    #expect(try sorted(["B", "b", "A", "B"]) == ["A", "B", "b", "B"], "alike: in their order")
    let long = ["9", String(repeating: "1", count: 40), "x"]
    #expect(try sorted(long.reversed()) == long)
  }

  @Test func `the last, the largest and the fastest come first, and no value is last`() throws {
    let id = try #require(TransferID("4FZ0ABCD"))
    func names(_ order: ListOrder, _ change: (Int, inout TransferDocument) -> Void) -> [String] {
      var transfers = ["none", "low", "high"].enumerated().map { index, name in
        var transfer = TransferDocument(id: id, name: name, state: .running)
        if index > 0 { change(index, &transfer) }
        return transfer
      }
      order.sort(&transfers)
      return transfers.map(\.name)
    }
    #expect(names(.ended) { $1.ended = Double($0) } == ["high", "low", "none"])
    #expect(names(.size) { $1.total = Int64($0) } == ["high", "low", "none"])
    #expect(names(.rate) { $1.rate = Double($0) } == ["high", "low", "none"])
    let paused = names(.rate) { index, transfer in
      transfer.rate = Double(index)
      transfer.state = index == 2 ? .paused : .running
    }
    #expect(paused == ["low", "none", "high"], "what does not run has no rate")
  }
}
