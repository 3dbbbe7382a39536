import FoundationEssentials
import HaulCore
import HaulLibC

/// Single values of a line of a manifest. A manifest may have a million lines, and to decode all of
/// each takes ten times as long.
struct LineValues {
  let line: ArraySlice<UInt8>

  init(_ line: ArraySlice<UInt8>) { self.line = line }

  func text(_ key: StaticString) -> String? {
    guard let json = quoted(key) else { return nil }
    if json.contains(UInt8(ascii: "\\")) {
      return try? JSONDecoder().decode(String.self, from: Data([Self.quote] + json + [Self.quote]))
    }
    return String(validating: json, as: UTF8.self)
  }

  func integer(_ key: StaticString) -> Int64? {
    json(key).flatMap { Int64(String(decoding: Self.number($0), as: UTF8.self)) }
  }

  func number(_ key: StaticString) -> Double? {
    json(key).flatMap { Double(String(decoding: Self.number($0), as: UTF8.self)) }
  }

  func isTrue(_ key: StaticString) -> Bool { json(key)?.starts(with: "true".utf8) ?? false }

  /// A text as it is written, between its quotes.
  func quoted(_ key: StaticString) -> ArraySlice<UInt8>? {
    guard let json = json(key), json.first == Self.quote else { return nil }
    let text = json.dropFirst()
    let end = text.withUnsafeBytes { text -> Int? in
      guard let base = text.baseAddress else { return nil }
      var next = 0
      while let found = memchr(base + next, Int32(Self.quote), text.count - next) {
        let end = UnsafeRawPointer(found) - base
        // One after an odd number of backslashes belongs to the text.
        let slashes = text[..<end].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        if slashes % 2 == 0 { return end }
        next = end + 1
      }
      return nil
    }
    return end.map { text.prefix($0) }
  }

  private static let quote = UInt8(ascii: "\"")

  /// What begins with the value of a key; nil without the key. Inside of a text the quotes have a
  /// backslash before them, so that only a key looks like one. By the C library: a loop over a
  /// slice is many times slower.
  private func json(_ key: StaticString) -> ArraySlice<UInt8>? {
    let start = line.withUnsafeBytes { line -> Int? in
      guard let base = line.baseAddress else { return nil }
      let (count, length) = (line.count, key.utf8CodeUnitCount)
      var next = 0
      while let comma = memchr(base + next, Int32(UInt8(ascii: ",")), count - next) {
        next = UnsafeRawPointer(comma) - base + 1
        guard next + length + 3 <= count else { return nil }
        if line[next] == Self.quote, memcmp(base + next + 1, key.utf8Start, length) == 0,
          line[next + length + 1] == Self.quote, line[next + length + 2] == UInt8(ascii: ":")
        {
          return next + length + 3
        }
      }
      return nil
    }
    return start.map { line[(line.startIndex + $0)...] }
  }

  private static func number(_ json: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    json.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}") }
  }
}
