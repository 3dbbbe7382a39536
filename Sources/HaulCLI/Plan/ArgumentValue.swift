import HaulControl
package import HaulCore

/// Parses values of the command line.
package enum ArgumentValue {
  /// A number of bytes, at least 1, as `size`.
  package static func bytes(_ text: String) throws(UsageError) -> Int64 {
    let size = try size(text)
    guard size > 0 else { throw UsageError("the number must be more than 0") }
    return size
  }

  /// A number of bytes with an optional `K`, `M`, `G` or `T` (powers of 1024), also written as
  /// `KiB`; fractions are rounded down.
  private static func size(_ text: String) throws(UsageError) -> Int64 {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit: Int64
    switch text[digits.endIndex...].lowercased() {
    case "", "b": unit = 1
    case "k", "kib": unit = 1 << 10
    case "m", "mib": unit = 1 << 20
    case "g", "gib": unit = 1 << 30
    case "t", "tib": unit = 1 << 40
    default: throw UsageError(sizeHint)
    }
    let parts = digits.byteSplit(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy(isNumber), let number = Double(digits),
      parts.count == 1 || unit > 1
    else { throw UsageError(sizeHint) }
    let (product, overflow) = (Int64(parts[0]) ?? .max).multipliedReportingOverflow(by: unit)
    let fraction = Int64((number - number.rounded(.down)) * Double(unit))
    let (sum, isTooMuch) = product.addingReportingOverflow(parts.count == 2 ? fraction : 0)
    guard !overflow, !isTooMuch else { throw UsageError("the number is too large") }
    return sum
  }

  /// A rate limit in bytes per second; 0, which means none, for `0` as for `none`.
  package static func rate(_ text: String) throws(UsageError) -> Int64 {
    text == "none" ? 0 : try size(text)
  }

  private static let sizeHint = "write a number of bytes, like 500K, 1.5M, 2G or 1MiB"

  /// How long, or how many of what has ended are kept: `30d`, or `1000`.
  static func keptEnds(_ text: String) throws(UsageError) -> KeptEnds {
    if isNumber(text[...]) { return .newest(try count(text, in: 0...Int.max)) }
    return .seconds(try duration(text) / .seconds(1))
  }

  /// A time longer than 0 and at most ten years: seconds, or a number with `s`, `m`, `h` or `d`.
  package static func duration(_ text: String) throws(UsageError) -> Duration {
    let unit: Double =
      switch text.last {
      case "m": 60
      case "h": 3600
      case "d": 86_400
      default: 1
      }
    let digits = ["s", "m", "h", "d"].contains(text.last) ? text.dropLast() : text[...]
    let parts = digits.byteSplit(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy(isNumber), let number = Double(digits) else {
      throw UsageError("write a time in seconds, or like 90s, 5m, 1h or 30d")
    }
    let seconds = number * unit
    guard seconds > 0 else { throw UsageError("the time must be longer than 0") }
    guard seconds <= longest else { throw UsageError("the time is too long") }
    return .seconds(seconds)
  }

  /// When a transfer runs again.
  static func repetition(_ text: String) throws(UsageError) -> Repetition {
    guard let repetition = Repetition(text), repetition.start == nil else {
      throw UsageError(Repetition.hint)
    }
    return repetition
  }

  /// States of transfers, with commas between them.
  package static func states(_ text: String) throws(UsageError) -> Set<TransferState> {
    var states: Set<TransferState> = []
    for name in text.byteSplit(separator: ",", omittingEmptySubsequences: false) {
      states.insert(try choice(String(name)))
    }
    return states
  }

  /// A count between the two bounds.
  package static func count(_ text: String, in bounds: ClosedRange<Int>) throws(UsageError) -> Int {
    guard isNumber(text[...]), let count = Int(text), bounds.contains(count) else {
      throw UsageError("write a number from \(bounds.lowerBound) to \(bounds.upperBound)")
    }
    return count
  }

  static func priority(_ text: String) throws(UsageError) -> TransferRequest.Priority {
    guard let priority = TransferRequest.Priority(name: text) else {
      throw UsageError("write \(TransferRequest.Priority.names)")
    }
    return priority
  }

  /// One of the values of the type.
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
