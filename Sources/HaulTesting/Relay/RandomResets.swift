/// Decides after which buffers a connection is reset. It depends on the seed and the connection,
/// not on how the bytes are divided.
package struct RandomResets: Sendable {
  private let probability: Double
  private var random: SimulationRandom
  private var left = RelayFlow.bufferSize

  package init(_ rules: RelayRules, connection: Int) {
    probability = rules.resetProbability
    random = SimulationRandom(
      seed: rules.seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(connection) &* 0xD1B5_4A32_D192_ED03)
  }

  /// Whether a buffer that ends within these bytes is the connection's last.
  package mutating func resets(after count: Int) -> Bool {
    left -= count
    while left <= 0 {
      left += RelayFlow.bufferSize
      if Double.random(in: 0..<1, using: &random) < probability { return true }
    }
    return false
  }
}
