import HaulCLI
import HaulCore
import Testing

@Suite struct ShardPlanTests {
  /// Rows of hosts, with so many rows each.
  private static func rows(_ counts: [Int], size: Int64? = nil) -> [ShardPlan.Row] {
    counts.enumerated().flatMap { host, count in
      [ShardPlan.Row](repeating: ShardPlan.Row(host: host, size: size), count: count)
    }
  }

  private static func sums(_ plan: ShardPlan, _ rows: [ShardPlan.Row], _ count: Int) -> [Int64] {
    zip(plan.shards, rows).reduce(into: [Int64](repeating: 0, count: count)) { sums, row in
      sums[row.0] += row.1.size ?? 1
    }
  }

  private static func shards(_ plan: ShardPlan, _ rows: [ShardPlan.Row], of host: Int) -> Set<Int> {
    Set(zip(plan.shards, rows).filter { $0.1.host == host }.map(\.0))
  }

  @Test func `A host is in one shard if it fits, and in as few as balance permits if not`() {
    let rows = Self.rows([8, 2, 3, 1, 2])
    let plan = ShardPlan(rows, hosts: 5, into: 4, by: .host)
    #expect(Self.sums(plan, rows, 4) == [4, 4, 4, 4])
    #expect(Self.shards(plan, rows, of: 0).count == 2)
    for host in 1..<5 { #expect(Self.shards(plan, rows, of: host).count == 1) }
    #expect(plan.limit(ofHost: 0, inShard: 0) == nil)
  }

  @Test func `Hosts are balanced by bytes if each row has a length, else by rows`() {
    var rows = Self.rows([1, 1, 4], size: 1)
    rows[0].size = 100
    rows[1].size = 100
    let known = ShardPlan(rows, hosts: 3, into: 2, by: .host)
    #expect(Self.shards(known, rows, of: 0).isDisjoint(with: Self.shards(known, rows, of: 1)))
    rows[5].size = nil
    let unknown = ShardPlan(rows, hosts: 3, into: 2, by: .host)
    #expect(Self.shards(unknown, rows, of: 2).count == 2)
  }

  @Test func `By bytes the longest rows go first, each to the emptiest shard`() {
    let rows = [5, 9, 1, 4, 8, 3].map { ShardPlan.Row(host: 0, size: $0) }
    let plan = ShardPlan(rows, hosts: 1, into: 3, by: .bytes)
    #expect(plan.shards == [2, 0, 0, 2, 1, 1])
    #expect(Self.sums(plan, rows, 3) == [10, 11, 9])
  }

  @Test func `By lines the rows go in turn`() {
    let plan = ShardPlan(Self.rows([3, 4]), hosts: 2, into: 3, by: .lines)
    #expect(plan.shards == [0, 1, 2, 0, 1, 2, 0])
  }

  @Test(arguments: ShardPlan.Unit.allCases)
  func `The shards of a host have the limit of the whole together, and at least 1 each`(
    unit: ShardPlan.Unit
  ) {
    let rows = Self.rows([40, 7, 1, 1], size: 3)
    for limit in [1, 3, 5, 100] {
      let plan = ShardPlan(rows, hosts: 4, into: 8, by: unit, maximumPerHost: limit)
      for host in 0..<4 {
        let own = Self.shards(plan, rows, of: host)
        let limits = (0..<8).compactMap { plan.limit(ofHost: host, inShard: $0) }
        #expect(own.count <= min(limit, 8))
        #expect(own.allSatisfy { plan.limit(ofHost: host, inShard: $0) ?? 0 >= 1 })
        #expect(limits.reduce(0, +) == limit, "host \(host) of \(unit): \(limits)")
      }
    }
  }

  @Test(arguments: ShardPlan.Unit.allCases, [1, 2, 17, 300])
  func `Every row is in a shard, the same one each time, and the shards are balanced`(
    unit: ShardPlan.Unit, count: Int
  ) {
    var generator = SplitMix64(seed: UInt64(count))
    let rows = (0..<200).map { _ in
      ShardPlan.Row(
        host: min(Int.random(in: 0..<40, using: &generator), 20),
        size: Int64.random(in: 1...1000, using: &generator))
    }
    let plan = ShardPlan(rows, hosts: 40, into: count, by: unit)
    #expect(plan.shards == ShardPlan(rows, hosts: 40, into: count, by: unit).shards)
    #expect(plan.shards.count == 200 && plan.shards.allSatisfy { (0..<count).contains($0) })
    guard unit == .bytes else { return }
    let sums = Self.sums(plan, rows, count)
    // What is given to the emptiest shard is at most the longest row more than the least.
    #expect((sums.max() ?? 0) - (sums.min() ?? 0) <= 1000)
  }
}
