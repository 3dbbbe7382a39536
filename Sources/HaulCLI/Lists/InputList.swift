import HaulCore

/// A file of addresses: one on each line, followed by its indented `key=value` lines.
package struct InputList: Hashable, Sendable {
  /// An address and the lines below it, as text.
  package struct Entry: Hashable, Sendable {
    package var line: Int
    package var address: String
    package var out: String?
    package var dir: String?
    package var rateLimit: Option?
    package var maximumPerHost: Option?
    package var user: Option?
    package var bearerFile: Option?
    package var cookieFile: Option?
    /// Of the queue of the daemon.
    package var group: Option?
    /// Which server has the list that a shard is made of.
    package var server: Option?
    /// Of the file, in bytes; only in a table.
    package var size: String?
    package var checksums: [Option] = []
    package var headers: [Option] = []
    /// All values of its row, by the names of the columns; empty in a list of lines.
    package var columns: [String: String] = [:]
  }

  /// The value of an indented line.
  package struct Option: Hashable, Sendable {
    package let line: Int
    package let text: String
  }

  package private(set) var entries: [Entry] = []
  /// The number of the last line.
  private(set) var lastLine = 0

  /// Parses a list, or whole entries of one.
  /// - Parameter first: the number of the first line.
  package init(_ text: String, from first: Int = 1) throws(ParseError) {
    lastLine = try TextLine.read(text, from: first) { (line) throws(ParseError) in
      if line.isIndented { try takeOption(line) } else { try takeAddress(line) }
    }
  }

  /// How many bytes of a piece are whole entries: what is before its last address, which may have
  /// further options.
  static func wholeLength(of piece: ArraySlice<UInt8>) -> Int {
    var end = piece.endIndex
    while let lineBreak = piece[..<end].lastIndex(of: 0x0A) {
      let next = piece[(lineBreak + 1)...].first
      if let next, ![0x09, 0x0A, 0x0D, 0x20, UInt8(ascii: "#")].contains(next) {
        return lineBreak + 1 - piece.startIndex
      }
      end = lineBreak
    }
    return 0
  }

  private mutating func takeAddress(_ line: TextLine) throws(ParseError) {
    guard !line.content.contains(0x09) else {
      throw line.parseError("mirrors, after a tab, are not yet supported")
    }
    entries.append(Entry(line: line.number, address: line.text))
  }

  private mutating func takeOption(_ line: TextLine) throws(ParseError) {
    guard !entries.isEmpty else {
      throw line.parseError("an indented line needs an address above it")
    }
    guard let (key, value) = line.option else {
      throw line.parseError("an indented line is written key=value")
    }
    let (last, option) = (entries.count - 1, Option(line: line.number, text: value))
    func set<Value>(
      _ field: WritableKeyPath<Entry, Value?>, to new: Value
    ) throws(ParseError) {
      guard entries[last][keyPath: field] == nil else {
        throw line.parseError("\(key) is given twice for one address")
      }
      guard !value.isEmpty else { throw line.parseError("\(key) has no value") }
      entries[last][keyPath: field] = new
    }
    switch key {
    case "out": try set(\.out, to: value)
    case "dir": try set(\.dir, to: value)
    case "limit-rate": try set(\.rateLimit, to: option)
    case "max-per-host": try set(\.maximumPerHost, to: option)
    case "user": try set(\.user, to: option)
    case "bearer-file": try set(\.bearerFile, to: option)
    case "cookie-file": try set(\.cookieFile, to: option)
    case "group": try set(\.group, to: option)
    case "list-server": try set(\.server, to: option)
    case "checksum": entries[last].checksums.append(option)
    case "header": entries[last].headers.append(option)
    case "priority", "id":
      throw line.parseError("\(key) is not yet supported; the keys are \(Self.keyList)")
    // Its query may have the first `=`, and it may be a secret.
    case _ where key.hasBytes("://"):
      throw line.parseError(
        "an indented line is an option of the address above it; remove the white space before an "
          + "address")
    case _ where Checksum.Algorithm(name: key) != nil:
      throw line.parseError("unknown key \(key); a digest is written checksum=\(key)=HEX")
    case _ where key.hasBytes(":") || key.hasBytes(" "):
      throw line.parseError(
        "that is no key; the keys are \(Self.keyList)")
    default:
      let nearest = Self.nearestKey(to: key).map { " did you mean \($0)?" } ?? ""
      throw line.parseError("unknown key \(key);\(nearest) the keys are \(Self.keyList)")
    }
  }

  private static let keys = [
    "out", "dir", "checksum", "header", "limit-rate", "max-per-host", "user", "bearer-file",
    "cookie-file", "list-server", "group",
  ]

  private static var keyList: String {
    keys.dropLast().joined(separator: ", ") + " and \(keys[keys.count - 1])"
  }

  /// The key with almost this name.
  private static func nearestKey(to name: String) -> String? {
    let distances = keys.map { (key: $0, count: EditDistance.distance(name, $0)) }
    let near = distances.filter { $0.count <= min(2, (name.count + 1) / 3) }
    return near.min { $0.count < $1.count }?.key
  }
}
