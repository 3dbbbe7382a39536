import HaulCore

/// Which shard each row of a list goes to, so that the shards are equally large.
package struct ShardPlan: Sendable {
  /// What is shared out.
  package enum Unit: String, CaseIterable, Sendable {
    /// Hosts, each in as few shards as balance permits.
    case host
    /// Rows by their lengths, the longest first.
    case bytes
    /// Rows, in turn.
    case lines
  }

  /// A row of a list.
  package struct Row: Sendable {
    /// Its number.
    package var host: Int
    /// In bytes; nil if it is unknown.
    package var size: Int64?

    package init(host: Int, size: Int64? = nil) { (self.host, self.size) = (host, size) }
  }

  private struct Load: Comparable, Sendable {
    var sum: Double
    let shard: Int

    static func < (left: Load, right: Load) -> Bool {
      (left.sum, left.shard) < (right.sum, right.shard)
    }
  }

  /// For each row its shard.
  package private(set) var shards: [Int]
  /// The shards of each host.
  private var shardsOfHosts: [[Int]]
  private let maximumPerHost: Int?
  private var loads: IndexedPriorityQueue<Load>
  private var sums: [Double]

  /// - Parameters:
  ///   - hosts: how many there are.
  ///   - count: of the shards.
  ///   - maximumPerHost: transfers of one host at once, in all shards together.
  package init(
    _ rows: [Row], hosts: Int, into count: Int, by unit: Unit, maximumPerHost: Int? = nil
  ) {
    self.maximumPerHost = maximumPerHost
    shards = [Int](repeating: 0, count: rows.count)
    shardsOfHosts = [[Int]](repeating: [], count: hosts)
    sums = [Double](repeating: 0, count: count)
    loads = IndexedPriorityQueue()
    for shard in 0..<count { loads.set(shard, to: Load(sum: 0, shard: shard)) }
    let countsBytes = unit == .bytes || unit == .host && rows.allSatisfy { $0.size != nil }
    let weights = rows.map { countsBytes ? Double(max($0.size ?? 0, 1)) : 1 }
    switch unit {
    case .host: shareHosts(rows, weights)
    case .lines: share(rows, weights, inOrder: Array(rows.indices))
    case .bytes:
      let order = rows.indices.sorted { (weights[$1], $0) < (weights[$0], $1) }
      share(rows, weights, inOrder: order)
    }
    for host in shardsOfHosts.indices { shardsOfHosts[host].sort() }
  }

  /// How many transfers of a host a shard may run at once; nil for no limit. All shards of a host
  /// have the limit of the whole together.
  package func limit(ofHost host: Int, inShard shard: Int) -> Int? {
    let shards = shardsOfHosts[host]
    guard let maximumPerHost, let position = shards.firstIndex(of: shard) else { return nil }
    let (share, rest) = maximumPerHost.quotientAndRemainder(dividingBy: shards.count)
    return share + (position < rest ? 1 : 0)
  }

  /// The largest hosts first, each in equal pieces for the emptiest shards.
  private mutating func shareHosts(_ rows: [Row], _ weights: [Double]) {
    var hosts = [(sum: Double, rows: Int)](repeating: (0, 0), count: shardsOfHosts.count)
    for (row, weight) in zip(rows, weights) {
      hosts[row.host].sum += weight
      hosts[row.host].rows += 1
    }
    let ideal = weights.reduce(0, +) / Double(sums.count)
    var pieces = hosts.map { host in
      let wanted = Int((host.sum / ideal).rounded(.up))
      let count = min(wanted, host.rows, sums.count, maximumPerHost ?? .max)
      return [Double](repeating: 0, count: max(1, count))
    }
    var done = [Double](repeating: 0, count: hosts.count)
    // First the piece of each row, from the beginning of its host's rows on.
    for (index, row) in rows.enumerated() {
      let count = pieces[row.host].count
      let piece = Int(done[row.host] / hosts[row.host].sum * Double(count))
      shards[index] = min(piece, count - 1)
      pieces[row.host][shards[index]] += weights[index]
      done[row.host] += weights[index]
    }
    for host in hosts.indices.sorted(by: { (hosts[$1].sum, $0) < (hosts[$0].sum, $1) }) {
      let sizes = pieces[host]
      shardsOfHosts[host] = [Int](repeating: 0, count: sizes.count)
      for piece in sizes.indices.sorted(by: { (sizes[$1], $0) < (sizes[$0], $1) }) {
        shardsOfHosts[host][piece] = takeEmptiest()
      }
      for (shard, size) in zip(shardsOfHosts[host], sizes) { add(size, to: shard) }
    }
    for (index, row) in rows.enumerated() { shards[index] = shardsOfHosts[row.host][shards[index]] }
  }

  /// Each row goes to the emptiest shard, or to the emptiest of those that its host may be in.
  private mutating func share(_ rows: [Row], _ weights: [Double], inOrder order: [Int]) {
    for index in order {
      let (host, shard) = (rows[index].host, emptiest(for: rows[index].host))
      if maximumPerHost != nil, !shardsOfHosts[host].contains(shard) {
        shardsOfHosts[host].append(shard)
      }
      shards[index] = shard
      add(weights[index], to: shard)
    }
  }

  private func emptiest(for host: Int) -> Int {
    let own = shardsOfHosts[host]
    guard let maximumPerHost, own.count >= maximumPerHost else { return loads.first?.number ?? 0 }
    return own.min { (sums[$0], $0) < (sums[$1], $1) } ?? 0
  }

  /// The emptiest shard, which is not found again before something is added to it.
  private mutating func takeEmptiest() -> Int {
    let shard = loads.first?.number ?? 0
    loads.set(shard, to: nil)
    return shard
  }

  private mutating func add(_ weight: Double, to shard: Int) {
    sums[shard] += weight
    loads.set(shard, to: Load(sum: sums[shard], shard: shard))
  }
}
