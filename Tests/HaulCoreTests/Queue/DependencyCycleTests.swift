import HaulCore
import Testing

@Suite struct DependencyCycleTests {
  private let ids: [TransferID]

  init() {
    var generator = SplitMix64(seed: 22)
    ids = (0..<8).map { _ in TransferID(using: &generator) }
  }

  private typealias Node = DependencyGraph.Node

  /// Each depends on the next, and the last one on the first.
  private func circle(_ members: [TransferID]) -> [Node] {
    members.indices.map { Node(id: members[$0], after: [members[($0 + 1) % members.count]]) }
  }

  @Test(arguments: 1...8)
  func `A cycle in a batch is reported, and the whole batch is refused`(length: Int) {
    var graph = DependencyGraph()
    let members = Array(ids.prefix(length))
    var generator = SplitMix64(seed: 23)
    let outsider = TransferID(using: &generator)
    let nodes = [Node(id: outsider, after: [ids[0]])] + circle(members)
    let error = #expect(throws: DependencyGraph.Cycle.self) { try graph.add(nodes) { _ in nil } }
    #expect(error?.ids == members)
    #expect(graph.count == 0)
    #expect(graph.readiness(of: outsider) == .ready)
  }

  @Test(arguments: 1...8)
  func `A change that closes a cycle is refused, and the old dependencies stay`(length: Int) throws
  {
    var graph = DependencyGraph()
    let nodes = circle(Array(ids.prefix(length)))
    try graph.add(Array(nodes.dropLast())) { _ in nil }
    let count = graph.count
    #expect(throws: DependencyGraph.Cycle.self) {
      try graph.set(nodes[length - 1]) { _ in nil }
    }
    #expect(graph.count == count)
    #expect(graph.readiness(of: ids[length - 1]) == .ready)
    for index in 0..<(length - 1) {
      #expect(graph.readiness(of: ids[index]) == .waiting(on: ids[index + 1]))
    }
  }

  @Test func `A cycle through existing and added transfers is reported completely`() throws {
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

  @Test func `A cycle through completed transfers is refused too`() throws {
    var graph = DependencyGraph()
    try graph.add([Node(id: ids[1], after: [ids[0]])]) { _ in nil }
    check(graph.ended(ids[0], .completed), is: [ids[1]])
    check(graph.ended(ids[1], .completed), is: [])
    #expect(throws: DependencyGraph.Cycle.self) {
      try graph.set(Node(id: ids[0], after: [ids[1]])) { _ in nil }
    }
  }

  @Test func `Two paths to one dependency are no cycle, and removed edges close none`() throws {
    var graph = DependencyGraph()
    try graph.add([
      Node(id: ids[3], after: [ids[1], ids[2]]), Node(id: ids[1], after: [ids[0]]),
      Node(id: ids[2], after: [ids[0]]),
    ]) { _ in nil }
    try graph.set(Node(id: ids[1], after: [])) { _ in nil }
    try graph.set(Node(id: ids[0], after: [ids[1]])) { _ in nil }
    #expect(graph.readiness(of: ids[0]) == .waiting(on: ids[1]))
    check(graph.remove(ids[2]), is: [ids[3]])
    try graph.set(Node(id: ids[1], after: [ids[4]])) { _ in nil }
    #expect(graph.readiness(of: ids[3]) == .blocked(by: ids[2]))
  }
}
