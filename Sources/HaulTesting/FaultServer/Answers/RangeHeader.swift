/// The range of a `Range` header with one range (RFC 9110, section 14.1.2).
enum RangeHeader: Equatable {
  case from(Int64)
  case between(Int64, Int64)
  case suffix(Int64)

  /// Nil for another unit, several ranges or invalid text: a server may then send everything.
  init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let ends = parts[1].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      .map { $0.drop { $0 == " " } }
    guard ends.count == 2, ends.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }) else { return nil }
    switch (Int64(ends[0]), Int64(ends[1])) {
    case (let first?, let last?) where first <= last: self = .between(first, last)
    case (let first?, nil) where ends[1].isEmpty: self = .from(first)
    case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
    default: return nil
    }
  }

  /// The first requested byte of a resource of that length.
  func firstByte(of length: Int64) -> Int64 {
    switch self {
    case .from(let first), .between(let first, _): first
    case .suffix(let count): max(0, length - count)
    }
  }

  /// The requested bytes of a resource of that length; nil if there are none (416).
  func resolved(in length: Int64) -> Range<Int64>? {
    let first = firstByte(of: length)
    guard first < length else { return nil }
    switch self {
    case .from: return first..<length
    case .between(_, let last): return first..<(min(last, length - 1) + 1)
    case .suffix(let count): return count == 0 ? nil : first..<length
    }
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
