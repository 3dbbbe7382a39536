extension Collection<UInt8> {
  /// Compares all bytes, so that the time does not show how many are right.
  func isEqualInConstantTime(to other: some Collection<UInt8>) -> Bool {
    count == other.count && zip(self, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
