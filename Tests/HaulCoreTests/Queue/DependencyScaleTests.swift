import HaulCore
import Testing

/// Sizes at which a deep recursion overflows the stack and a quadratic cost takes too long.
@Suite struct DependencyScaleTests {
  private static let size = 20_000
  private let ids: [TransferID]

  init() {
    var generator = SplitMix64(seed: 24)
    ids = (0..<Self.size).map { _ in TransferID(using: &generator) }
  }

  private typealias Node = DependencyGraph.Node

  private var chain: [Node] { (1..<Self.size).map { Node(id: ids[$0], after: [ids[$0 - 1]]) } }

  private func walk(_ start: DependencyGraph) {
    var graph = start
    var freed = 0
    for id in ids {
      for next in graph.ended(id, .completed) where graph.readiness(of: next) == .ready {
        freed += 1
      }
    }
    #expect(freed == Self.size - 1)
  }

  @Test func `A long chain can grow at its end`() throws {
    var graph = DependencyGraph()
    for node in chain { try graph.add([node]) { _ in nil } }
    walk(graph)
  }

  @Test func `A long chain can be added in reverse in one batch, and its cycle is refused`() throws
  {
    var graph = DependencyGraph()
    let closing = Node(id: ids[0], after: [ids[Self.size - 1]])
    let error = #expect(throws: DependencyGraph.Cycle.self) {
      try graph.add(chain.reversed() + [closing]) { _ in nil }
    }
    #expect(error?.ids.count == Self.size)
    #expect(graph.count == 0)
    try graph.add(chain.reversed()) { _ in nil }
    #expect(throws: DependencyGraph.Cycle.self) { try graph.set(closing) { _ in nil } }
    walk(graph)
    for id in ids { _ = graph.remove(id) }
    #expect(graph.count == 0)
  }

  @Test func `A transfer can have very many dependencies, some of which fail and are retried`()
    throws
  {
    var graph = DependencyGraph()
    let last = ids[0]
    try graph.add([Node(id: last, after: Array(ids.dropFirst()))]) { _ in nil }
    var reported = 0
    for (index, id) in ids.enumerated().dropFirst() {
      if graph.readiness(of: last) == .waiting(on: id) { reported += 1 }
      if graph.ended(id, .failed) == [last], graph.readiness(of: last) == .blocked(by: id) {
        reported += 1
      }
      if index.isMultiple(of: 2) { _ = graph.requeued(id) }
      if graph.ended(id, .completed) == [last] { reported += 1 }
    }
    #expect(reported == 3 * (Self.size - 1))
    #expect(graph.readiness(of: last) == .ready)
  }

  @Test func `Very many dependents of one transfer can be removed one by one`() throws {
    var graph = DependencyGraph()
    try graph.add(ids.dropFirst().map { Node(id: $0, after: [ids[0]]) }) { _ in nil }
    check(graph.ended(ids[0], .failed) == Array(ids.dropFirst()), is: true)
    for id in ids.dropFirst().dropLast() { _ = graph.remove(id) }
    #expect(graph.readiness(of: ids[Self.size - 1]) == .blocked(by: ids[0]))
    #expect(graph.count == 2)
  }
}
