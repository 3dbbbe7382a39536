/// A map within a cost limit that evicts by S3-FIFO (Yang et al., SOSP 2023).
///
/// New entries wait in a small queue. An entry that is read there moves to the main queue; one that
/// is not is evicted, and only a hash of its key is kept. A scan passes through the small queue and
/// leaves the main one as it is. A hit changes one counter and moves nothing: O(1).
package struct S3FIFO<Key: Hashable, Value> {
  private enum Queue { case small, main }

  private struct Node {
    var cost = 0
    /// Reads since it was queued, at most 3.
    var hits: UInt8 = 0
    var queue = Queue.small
    var links = FIFOLinks()
  }

  /// Reads in the small queue after which an entry moves to the main one.
  private static var promotion: UInt8 { 1 }
  private static var maximumHits: UInt8 { 3 }

  package let costLimit: Int
  private var index: [Key: Int32] = [:]
  private var items: ContiguousArray<(key: Key, value: Value)?> = []
  private var nodes: ContiguousArray<Node> = []
  private var unused: ContiguousArray<Int32> = []
  private var small = FIFOQueue()
  private var main = FIFOQueue()
  private var ghosts = GhostQueue()

  package init(costLimit: Int) { self.costLimit = max(costLimit, 0) }

  package var count: Int { index.count }
  package var cost: Int { small.cost + main.cost }

  /// The value, which counts as read.
  package mutating func value(for key: Key) -> Value? {
    guard let slot = index[key] else { return nil }
    if nodes[Int(slot)].hits < Self.maximumHits { nodes[Int(slot)].hits += 1 }
    return items[Int(slot)]?.value
  }

  /// Inserts or replaces a value. One that costs more than the limit is not kept.
  /// - Returns: the values that left, so that the caller releases them outside its lock.
  package mutating func insert(_ value: Value, for key: Key, cost: Int) -> [Value] {
    let cost = max(cost, 1)
    var left: [Value] = []
    var node = Node(cost: cost)
    if let slot = index[key] {
      (node.hits, node.queue) = (nodes[Int(slot)].hits, nodes[Int(slot)].queue)
      if let old = release(slot) { left.append(old) }
    } else if ghosts.remove(key.hashValue) {
      node.queue = .main
    }
    guard cost <= costLimit else { return left }
    evict(to: costLimit - cost, &left)
    let slot = takeSlot()
    items[Int(slot)] = (key, value)
    nodes[Int(slot)] = node
    index[key] = slot
    enqueue(slot)
    return left
  }

  package mutating func removeValue(for key: Key) -> Value? {
    index[key].flatMap { release($0) }
  }

  /// Evicts until the cost is at most `cost`.
  package mutating func trim(to cost: Int) -> [Value] {
    var left: [Value] = []
    evict(to: max(cost, 0), &left)
    return left
  }

  /// Removes everything and frees the storage.
  package mutating func removeAll() -> [Value] {
    let left = items.compactMap { $0?.value }
    self = S3FIFO(costLimit: costLimit)
    return left
  }
}

extension S3FIFO {
  private mutating func evict(to limit: Int, _ left: inout [Value]) {
    while cost > limit {
      // The small queue may have a tenth of the limit.
      if let slot = small.last, small.cost > costLimit / 10 || main.last == nil {
        evictSmall(slot, &left)
      } else if let slot = main.last {
        evictMain(slot, &left)
      }
    }
  }

  private mutating func evictSmall(_ slot: Int32, _ left: inout [Value]) {
    guard nodes[Int(slot)].hits < Self.promotion else {
      requeue(slot, hits: 0)
      return
    }
    if let key = items[Int(slot)]?.key {
      ghosts.insert(key.hashValue, limit: max(index.count, 64))
    }
    if let value = release(slot) { left.append(value) }
  }

  private mutating func evictMain(_ slot: Int32, _ left: inout [Value]) {
    let hits = nodes[Int(slot)].hits
    if hits > 0 {
      requeue(slot, hits: hits - 1)
    } else if let value = release(slot) {
      left.append(value)
    }
  }

  /// Moves an entry to the head of the main queue.
  private mutating func requeue(_ slot: Int32, hits: UInt8) {
    unlink(slot)
    (nodes[Int(slot)].queue, nodes[Int(slot)].hits) = (.main, hits)
    enqueue(slot)
  }

  private mutating func release(_ slot: Int32) -> Value? {
    unlink(slot)
    unused.append(slot)
    guard let item = items[Int(slot)] else { return nil }
    items[Int(slot)] = nil
    index[item.key] = nil
    return item.value
  }

  private mutating func takeSlot() -> Int32 {
    if let slot = unused.popLast() { return slot }
    items.append(nil)
    nodes.append(Node())
    return Int32(items.count - 1)
  }

  private mutating func enqueue(_ slot: Int32) {
    let (cost, queue) = (nodes[Int(slot)].cost, nodes[Int(slot)].queue)
    let first = queue == .small ? small.first : main.first
    nodes[Int(slot)].links = FIFOLinks(newer: nil, older: first)
    if let first { nodes[Int(first)].links.newer = slot }
    switch queue {
    case .small: small.prepend(slot, cost: cost)
    case .main: main.prepend(slot, cost: cost)
    }
  }

  private mutating func unlink(_ slot: Int32) {
    let node = nodes[Int(slot)]
    if let newer = node.links.newer { nodes[Int(newer)].links.older = node.links.older }
    if let older = node.links.older { nodes[Int(older)].links.newer = node.links.newer }
    switch node.queue {
    case .small: small.remove(slot, node.links, cost: node.cost)
    case .main: main.remove(slot, node.links, cost: node.cost)
    }
  }
}

extension S3FIFO: Sendable where Key: Sendable, Value: Sendable {}
