/// Values as they are written on the command line.
package enum ArgumentValue {
  /// A number of bytes, at least 1, with an optional `K`, `M` or `G` (powers of 1024).
  package static func bytes(_ text: String) throws(UsageError) -> Int64 {
    let shift: Int64 =
      switch text.last {
      case "K", "k": 1 << 10
      case "M", "m": 1 << 20
      case "G", "g": 1 << 30
      default: 1
      }
    let digits = shift == 1 ? text[...] : text.dropLast()
    guard isNumber(digits), let count = Int64(digits) else {
      throw UsageError("write a number of bytes, like 500K, 16M or 2G")
    }
    let (product, overflow) = count.multipliedReportingOverflow(by: shift)
    guard !overflow else { throw UsageError("the number is too large") }
    guard product > 0 else { throw UsageError("the number must be more than 0") }
    return product
  }

  /// A time longer than 0 and at most ten years: seconds, or a number with `s`, `m` or `h`.
  package static func duration(_ text: String) throws(UsageError) -> Duration {
    let unit: Double =
      switch text.last {
      case "m": 60
      case "h": 3600
      default: 1
      }
    let digits = ["s", "m", "h"].contains(text.last) ? text.dropLast() : text[...]
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy(isNumber), let number = Double(digits) else {
      throw UsageError("write a time in seconds, or like 90s, 5m or 1h")
    }
    let seconds = number * unit
    guard seconds > 0 else { throw UsageError("the time must be longer than 0") }
    guard seconds <= longest else { throw UsageError("the time is too long") }
    return .seconds(seconds)
  }

  /// A count between the two bounds.
  package static func count(_ text: String, in bounds: ClosedRange<Int>) throws(UsageError) -> Int {
    guard isNumber(text[...]), let count = Int(text), bounds.contains(count) else {
      throw UsageError("write a number from \(bounds.lowerBound) to \(bounds.upperBound)")
    }
    return count
  }

  /// One of the values that the type names.
  static func choice<Value: RawRepresentable<String> & CaseIterable>(
    _ text: String
  ) throws(UsageError) -> Value {
    if let value = Value(rawValue: text) { return value }
    let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
    throw UsageError("write one of \(names)")
  }

  private static let longest: Double = 10 * 365 * 86_400

  private static func isNumber(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}
