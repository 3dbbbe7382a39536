import HaulCore
import Testing

@Suite struct DependencyGraphTests {
  private let ids: [TransferID]
  private var a: TransferID { ids[0] }
  private var b: TransferID { ids[1] }
  private var c: TransferID { ids[2] }
  private var d: TransferID { ids[3] }

  init() {
    var generator = SplitMix64(seed: 21)
    ids = (0..<8).map { _ in TransferID(using: &generator) }
  }

  private typealias Node = DependencyGraph.Node

  private func waiting(_ nodes: Node...) throws -> DependencyGraph {
    var graph = DependencyGraph()
    try graph.add(nodes) { _ in nil }
    return graph
  }

  // Found by the simulation, seed 311610: between two portions of a retry, a dependent was checked.
  @Test func `Transfers are sorted so that each follows its dependencies, and else stay in order`()
    throws
  {
    let graph = try waiting(
      Node(id: a, after: [b, d]), Node(id: b, after: [c]), Node(id: d, after: [c]))
    #expect(graph.sorted([ids[4], a, b, c, d, ids[5]]) == [ids[4], c, d, b, a, ids[5]])
    #expect(graph.sorted([a, d]) == [d, a])
    #expect(DependencyGraph().sorted([b, a]) == [b, a])
  }

  @Test func `A transfer without dependencies is ready and uses no memory`() throws {
    var graph = try waiting(Node(id: a, after: []), Node(id: b, after: []))
    #expect(graph.readiness(of: a) == .ready)
    check(graph.ended(a, .failed), is: [])
    check(graph.requeued(a), is: [])
    check(graph.remove(a), is: [])
    #expect(graph.count == 0)
  }

  @Test func `Each transfer of a chain waits for its predecessor`() throws {
    var graph = try waiting(
      Node(id: a, after: []), Node(id: b, after: [a]), Node(id: c, after: [b]))
    #expect(graph.readiness(of: a) == .ready)
    #expect(graph.readiness(of: b) == .waiting(on: a))
    #expect(graph.readiness(of: c) == .waiting(on: b))
    check(graph.ended(a, .completed), is: [b])
    #expect(graph.readiness(of: b) == .ready)
    #expect(graph.readiness(of: c) == .waiting(on: b))
    check(graph.ended(b, .completed), is: [c])
    check(graph.ended(b, .completed), is: [])
    #expect(graph.readiness(of: c) == .ready)
  }

  @Test(arguments: [DependencyGraph.End.failed, .cancelled, .removed])
  func `Each dependent has its own policy for a dependency that did not complete`(
    end: DependencyGraph.End
  ) throws {
    var graph = try waiting(
      Node(id: b, after: [a], policy: .block), Node(id: c, after: [a], policy: .skip),
      Node(id: d, after: [a], policy: .run), Node(id: ids[4], after: [b]))
    check(graph.ended(a, end), is: [b, c, d])
    #expect(graph.readiness(of: b) == .blocked(by: a))
    #expect(graph.readiness(of: c) == .skipped(by: a))
    #expect(graph.readiness(of: d) == .ready)
    #expect(graph.readiness(of: ids[4]) == .waiting(on: b))
  }

  @Test func `A blocked transfer becomes ready when its dependency is retried and completes`()
    throws
  {
    var graph = try waiting(Node(id: b, after: [a]), Node(id: c, after: [a], policy: .run))
    check(graph.ended(a, .failed), is: [b, c])
    check(graph.ended(a, .cancelled), is: [])
    check(graph.requeued(a), is: [b, c])
    check(graph.requeued(a), is: [])
    #expect(graph.readiness(of: b) == .waiting(on: a))
    #expect(graph.readiness(of: c) == .waiting(on: a))
    check(graph.ended(a, .completed), is: [b, c])
    #expect(graph.readiness(of: b) == .ready)
    check(graph.requeued(a), is: [b, c])
    #expect(graph.readiness(of: b) == .waiting(on: a))
  }

  @Test func `A dependency that did not complete is reported before one that has not ended`() throws
  {
    var graph = try waiting(
      Node(id: d, after: [a, b, c, a]), Node(id: ids[4], after: [a, b, c], policy: .skip),
      Node(id: ids[5], after: [a, b, c], policy: .run))
    let all = [d, ids[4], ids[5]]
    #expect(all.map { graph.readiness(of: $0) } == Array(repeating: .waiting(on: a), count: 3))
    check(graph.ended(a, .completed), is: all)
    #expect(graph.readiness(of: d) == .waiting(on: b))
    check(graph.ended(c, .failed), is: all)
    #expect(graph.readiness(of: d) == .blocked(by: c))
    #expect(graph.readiness(of: ids[4]) == .skipped(by: c))
    #expect(graph.readiness(of: ids[5]) == .waiting(on: b))
    check(graph.ended(b, .cancelled), is: all)
    #expect(graph.readiness(of: d) == .blocked(by: b))
    #expect(graph.readiness(of: ids[5]) == .ready)
    check(graph.requeued(b), is: all)
    check(graph.ended(b, .completed), is: all)
    check(graph.requeued(c), is: all)
    #expect(graph.readiness(of: d) == .waiting(on: c))
    check(graph.ended(c, .completed), is: all)
    #expect(all.map { graph.readiness(of: $0) } == Array(repeating: .ready, count: 3))
  }

  @Test func `The state of a dependency outside the graph is looked up`() throws {
    var graph = DependencyGraph()
    let ends: [TransferID: DependencyGraph.End] = [a: .completed, b: .failed, c: .removed]
    try graph.add(
      [Node(id: d, after: [a]), Node(id: ids[4], after: [a, b]), Node(id: ids[5], after: [c])]
    ) { ends[$0] }
    #expect(graph.readiness(of: d) == .ready)
    #expect(graph.readiness(of: ids[4]) == .blocked(by: b))
    #expect(graph.readiness(of: ids[5]) == .blocked(by: c))
    check(graph.requeued(b), is: [ids[4]])
    check(graph.requeued(c), is: [])
  }

  @Test func `A dependency of the same batch is unfinished, unless a stored list gives its end`()
    throws
  {
    var fresh = DependencyGraph()
    let nodes = [Node(id: b, after: [a]), Node(id: a, after: []), Node(id: c, after: [b])]
    try fresh.add(nodes) { _ in .removed }
    #expect(fresh.readiness(of: b) == .waiting(on: a))
    #expect(fresh.readiness(of: c) == .waiting(on: b))
    var stored = DependencyGraph()
    let ends: [TransferID: DependencyGraph.End] = [a: .completed, b: .failed]
    try stored.add(nodes) { ends[$0] }
    #expect(stored.readiness(of: b) == .ready)
    #expect(stored.readiness(of: c) == .blocked(by: b))
    try stored.add([Node(id: d, after: [b])]) { _ in nil }
    #expect(stored.readiness(of: d) == .blocked(by: b))
  }

  @Test func `A completed dependency that was removed from the list still counts as completed`()
    throws
  {
    var graph = try waiting(Node(id: c, after: [a, b]))
    check(graph.ended(a, .completed), is: [c])
    check(graph.remove(a), is: [c])
    check(graph.remove(a), is: [])
    #expect(graph.readiness(of: c) == .waiting(on: b))
    check(graph.requeued(a), is: [])
    check(graph.ended(b, .completed), is: [c])
    #expect(graph.readiness(of: c) == .ready)
  }

  @Test func `Transfers without dependents are removed from memory`() throws {
    var graph = try waiting(Node(id: b, after: [a]), Node(id: c, after: [a, b]))
    #expect(graph.count == 3)
    #expect(graph.dependents(of: a) == [b, c])
    check(graph.remove(a), is: [b, c])
    #expect(graph.count == 3)
    check(graph.remove(b), is: [c])
    check(graph.remove(c), is: [])
    #expect(graph.count == 0)
  }

  @Test func `New dependencies replace the old ones`() throws {
    var graph = try waiting(Node(id: c, after: [a]), Node(id: d, after: [c]))
    try graph.set(Node(id: c, after: [b], policy: .skip)) { _ in .failed }
    #expect(graph.readiness(of: c) == .skipped(by: b))
    check(graph.ended(a, .completed), is: [])
    #expect(graph.readiness(of: d) == .waiting(on: c))
    try graph.set(Node(id: c, after: [])) { _ in nil }
    #expect(graph.readiness(of: c) == .ready)
    #expect(graph.count == 2)
    check(graph.ended(c, .completed), is: [d])
    try graph.set(Node(id: d, after: [])) { _ in nil }
    #expect(graph.count == 0)
  }
}
