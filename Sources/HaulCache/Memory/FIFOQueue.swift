import DequeModule

/// The neighbours of an entry in its queue, by their slots.
struct FIFOLinks: Sendable {
  var newer: Int32?
  var older: Int32?
}

/// The ends of a queue whose entries are linked, and what they cost together.
struct FIFOQueue: Sendable {
  private(set) var first: Int32?
  private(set) var last: Int32?
  private(set) var cost = 0

  mutating func prepend(_ slot: Int32, cost: Int) {
    first = slot
    if last == nil { last = slot }
    self.cost += cost
  }

  mutating func remove(_ slot: Int32, _ links: FIFOLinks, cost: Int) {
    if first == slot { first = links.older }
    if last == slot { last = links.newer }
    self.cost -= cost
  }
}

/// Hashes of keys that were evicted lately, at most as many as there are entries.
struct GhostQueue: Sendable {
  private var order = Deque<Int>()
  private var hashes: Set<Int> = []

  mutating func insert(_ hash: Int, limit: Int) {
    if hashes.insert(hash).inserted { order.append(hash) }
    while order.count > limit, let oldest = order.popFirst() { hashes.remove(oldest) }
  }

  /// Whether it was there. Its place in the order stays, and only ends a later stay early.
  mutating func remove(_ hash: Int) -> Bool { hashes.remove(hash) != nil }
}
