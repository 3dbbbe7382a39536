import HaulCore

/// Random bits of the system as hexadecimal digits.
enum RandomText {
  static func make(words: Int) -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<words).map { _ in (generator.next() as UInt64).hexDigits }.joined()
  }
}
