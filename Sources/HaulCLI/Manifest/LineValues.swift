import FoundationEssentials
import HaulCore

/// Single values of a line of a manifest. A manifest may have a million lines, and to decode all of
/// each takes ten times as long.
struct LineValues {
  let line: ArraySlice<UInt8>

  init(_ line: ArraySlice<UInt8>) { self.line = line }

  func text(_ key: String) -> String? {
    guard let json = json(key), json.first == Self.quote else { return nil }
    let text = json.dropFirst()
    let end = text.firstIndex { $0 == Self.quote || $0 == UInt8(ascii: "\\") }
    guard let end else { return nil }
    if text[end] == Self.quote { return String(validating: text[..<end], as: UTF8.self) }
    guard let length = Self.length(ofText: json) else { return nil }
    return try? JSONDecoder().decode(String.self, from: Data(json.prefix(length)))
  }

  func integer(_ key: String) -> Int64? {
    json(key).flatMap { Int64(String(decoding: Self.number($0), as: UTF8.self)) }
  }

  func number(_ key: String) -> Double? {
    json(key).flatMap { Double(String(decoding: Self.number($0), as: UTF8.self)) }
  }

  private static let quote = UInt8(ascii: "\"")

  /// What begins with the value of a key; nil without the key. Inside of a text the quotes have a
  /// backslash before them, so that only a key looks like one.
  private func json(_ key: String) -> ArraySlice<UInt8>? {
    let name = Array(",\"\(key)\":".utf8)
    let start = line.withUnsafeBytes { line in
      (0..<max(0, line.count - name.count)).first { start in
        line[start] == name[0] && line[start + 1] == name[1]
          && line[start..<start + name.count].elementsEqual(name)
      }
    }
    return start.map { line[(line.startIndex + $0 + name.count)...] }
  }

  private static func number(_ json: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    json.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}") }
  }

  private static func length(ofText json: ArraySlice<UInt8>) -> Int? {
    var isEscaped = false
    let end = json.dropFirst().firstIndex { byte in
      defer { isEscaped = !isEscaped && byte == UInt8(ascii: "\\") }
      return !isEscaped && byte == quote
    }
    return end.map { $0 - json.startIndex + 1 }
  }
}
