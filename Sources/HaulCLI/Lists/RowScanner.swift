import HaulCore

/// The rows of a list that is read line by line, and where each is.
package struct RowScanner: Sendable {
  /// A row without its last line break, or the names of the columns.
  package struct Row: Hashable, Sendable {
    /// In the file.
    package var offset: Int64
    /// Where it begins, from 1.
    package var line: Int
    package var bytes: [UInt8]
  }

  /// Where the next byte of a comma-separated value is.
  private enum Position { case start, unquoted, quoted, afterQuote }

  private let format: InputTable.Format
  private var offset: Int64 = 0
  private var line = 0
  private var open: Row?
  /// Whether the open row of a list of lines has its address.
  private var hasAddress = false
  private var position = Position.start

  package init(_ format: InputTable.Format) { self.format = format }

  /// - Parameter line: without its line break.
  /// - Returns: a row that has ended.
  package mutating func take(_ line: ArraySlice<UInt8>) -> Row? {
    var next = Row(offset: offset, line: self.line + 1, bytes: Array(line))
    offset += Int64(line.count) + 1
    self.line += 1
    if next.line == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) {
      next.bytes.removeFirst(3)
      next.offset += 3
    }
    switch format {
    case .jsonl, .tsv: return isBlank(next.bytes) ? nil : next
    case .csv:
      add(next)
      follow(next.bytes)
      guard position != .quoted else { return nil }
      position = .start
      return takeOpen()
    case .list:
      guard Self.isAddress(next.bytes) else {
        add(next)
        return nil
      }
      let row = hasAddress ? takeOpen() : nil
      // What is above the first address belongs to it.
      add(next)
      hasAddress = true
      return row
    }
  }

  /// - Returns: the last row, if it has not ended yet.
  package mutating func end() -> Row? { takeOpen() }

  private mutating func add(_ next: Row) {
    guard open != nil else {
      open = next
      return
    }
    open?.bytes += [0x0A] + next.bytes
  }

  private mutating func takeOpen() -> Row? {
    defer { open = nil }
    return open.flatMap { isBlank($0.bytes) ? nil : $0 }
  }

  /// RFC 4180: a value in quotes may have line breaks, and a quote in it is written twice.
  private mutating func follow(_ bytes: [UInt8]) {
    for byte in bytes {
      switch (position, byte) {
      case (.start, UInt8(ascii: "\"")), (.afterQuote, UInt8(ascii: "\"")): position = .quoted
      case (.quoted, UInt8(ascii: "\"")): position = .afterQuote
      case (.quoted, _): break
      case (_, UInt8(ascii: ",")): position = .start
      default: position = .unquoted
      }
    }
  }

  private func isBlank(_ bytes: [UInt8]) -> Bool {
    switch format {
    // White space is a value there.
    case .csv, .tsv: bytes.isEmpty || bytes == [0x0D]
    case .list, .jsonl: bytes.allSatisfy(Self.isSpace)
    }
  }

  /// Not a comment, and not an indented option.
  private static func isAddress(_ bytes: [UInt8]) -> Bool {
    bytes.first.map { $0 != UInt8(ascii: "#") && !isSpace($0) } ?? false
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }
}

extension InputTable.Format {
  /// The row with the limit of its host, which `get -i` obeys.
  package func row(_ row: [UInt8], limitedTo limit: Int) -> [UInt8] {
    adding(.maximumPerHost, "\(limit)", to: row)
  }

  /// The row with the server of its list, whose rights `get -i` gives it.
  func row(_ row: [UInt8], of server: ListServer?) -> [UInt8] {
    guard let server else {
      // The file has the column.
      return self == .csv || self == .tsv ? adding(.server, "", to: row) : row
    }
    return adding(.server, self == .jsonl ? "\"\(server.text)\"" : server.text, to: row)
  }

  /// The names of the columns with that of the limit, or of another one.
  package func header(
    _ names: [UInt8], adding meaning: InputTable.Meaning = .maximumPerHost
  ) -> [UInt8] {
    adding(meaning, meaning.rawValue, to: names)
  }

  private func adding(_ meaning: InputTable.Meaning, _ value: String, to row: [UInt8]) -> [UInt8] {
    let key = meaning.rawValue
    let end = row.last == 0x0D ? [0x0D] : [UInt8]()
    let rest = Array(row.dropLast(end.count))
    switch self {
    case .list: return row + Array("\n  \(key)=\(value)".utf8)
    case .csv: return rest + Array(",\(value)".utf8) + end
    case .tsv: return rest + Array("\t\(value)".utf8) + end
    case .jsonl:
      let brace = rest.lastIndex(of: UInt8(ascii: "}")) ?? rest.endIndex
      return rest[..<brace] + Array(",\"\(key)\":\(value)}".utf8)
    }
  }
}
