import HaulCore

/// The same seed gives the same run.
package struct SimulationRandom: RandomNumberGenerator, Sendable {
  private var numbers: SplitMix64

  package init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  package mutating func next() -> UInt64 { numbers.next() }

  /// Whether to do something once in so many times.
  package mutating func oneIn(_ count: Int) -> Bool { next() % UInt64(count) == 0 }

  package mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
}
