package import HaulCore

/// What the daemon keeps in its list of what has ended.
package enum KeptEnds: Hashable, Sendable {
  /// For so many seconds.
  case seconds(Double)
  /// The newest ones.
  case newest(Int)

  /// Those that are not kept, the oldest first.
  /// - Parameters:
  ///   - ends: when they ended, in seconds since 1970.
  ///   - time: the present time.
  package func surplus(_ ends: [TransferID: Double], at time: Double) -> [TransferID] {
    let old =
      switch self {
      case .seconds(let seconds): ends.filter { time - $0.value > seconds }
      case .newest(let count): ends.count > count ? ends : [:]
      }
    let sorted = old.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    guard case .newest(let count) = self else { return sorted }
    return sorted.dropLast(count)
  }
}
