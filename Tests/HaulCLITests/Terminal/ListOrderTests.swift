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
}
