import HaulCore
import Testing

@Suite struct DependencyCycleTests {
  private let ids: [TransferID]

  init() {
    var generator = SplitMix64(seed: 22)
    ids = (0..<8).map { _ in TransferID(using: &generator) }
  }

  private typealias Node = DependencyGraph.Node

  /// Each depends on the next, the last one on the first.
  private func circle(_ members: [TransferID]) -> [Node] {
    members.indices.map { Node(id: members[$0], after: [members[($0 + 1) % members.count]]) }
  }

  @Test(arguments: 1...8)
  func `A circle in a batch is refused with all that came along, and named`(length: Int) {
    var graph = DependencyGraph()
    let members = Array(ids.prefix(length))
    var generator = SplitMix64(seed: 23)
    let outsider = TransferID(using: &generator)
    let nodes = [Node(id: outsider, after: [ids[0]])] + circle(members)
    let error = #expect(throws: DependencyGraph.Cycle.self) { try graph.add(nodes) { _ in nil } }
    #expect(error?.ids == members)
    #expect(graph.count == 0)
    #expect(graph.verdict(of: outsider) == .ready)
  }

  @Test(arguments: 1...8)
  func `A circle closed by a change is refused, and the old dependencies stay`(length: Int) throws {
    var graph = DependencyGraph()
    let nodes = circle(Array(ids.prefix(length)))
    try graph.add(Array(nodes.dropLast())) { _ in nil }
    let count = graph.count
    #expect(throws: DependencyGraph.Cycle.self) {
      try graph.set(nodes[length - 1]) { _ in nil }
    }
    #expect(graph.count == count)
    #expect(graph.verdict(of: ids[length - 1]) == .ready)
    for index in 0..<(length - 1) {
      #expect(graph.verdict(of: ids[index]) == .waiting(on: ids[index + 1]))
    }
  }

  @Test func `A circle through some that were there and some that are added is named whole`() throws
  {
    var graph = DependencyGraph()
    try graph.add([Node(id: ids[0], after: [ids[1]]), Node(id: ids[1], after: [ids[2]])]) { _ in nil
    }
    let error = #expect(throws: DependencyGraph.Cycle.self) {
      try graph.add([
        Node(id: ids[2], after: [ids[4], ids[3]]), Node(id: ids[3], after: [ids[0]]),
      ]) { _ in nil }
    }
    #expect(error?.ids == [ids[2], ids[3], ids[0], ids[1]])
  }

  @Test
  func `Also those that have ended are no way around: started again, they would wait for ever`()
    throws
  {
    var graph = DependencyGraph()
    try graph.add([Node(id: ids[1], after: [ids[0]])]) { _ in nil }
    check(graph.ended(ids[0], .completed), is: [ids[1]])
    check(graph.ended(ids[1], .completed), is: [])
    #expect(throws: DependencyGraph.Cycle.self) {
      try graph.set(Node(id: ids[0], after: [ids[1]])) { _ in nil }
    }
  }

  @Test func `Two ways to the same one are no circle; what was taken away closes none`() throws {
    var graph = DependencyGraph()
    try graph.add([
      Node(id: ids[3], after: [ids[1], ids[2]]), Node(id: ids[1], after: [ids[0]]),
      Node(id: ids[2], after: [ids[0]]),
    ]) { _ in nil }
    try graph.set(Node(id: ids[1], after: [])) { _ in nil }
    try graph.set(Node(id: ids[0], after: [ids[1]])) { _ in nil }
    #expect(graph.verdict(of: ids[0]) == .waiting(on: ids[1]))
    check(graph.remove(ids[2]), is: [ids[3]])
    try graph.set(Node(id: ids[1], after: [ids[4]])) { _ in nil }
    #expect(graph.verdict(of: ids[3]) == .blocked(by: ids[2]))
  }
}
