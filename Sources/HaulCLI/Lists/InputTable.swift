import FoundationEssentials
import HaulCore

/// A list with a row for each address: CSV, TSV, or a JSON object on each line.
package struct InputTable: Sendable {
  /// What a column may hold.
  package enum Meaning: String, CaseIterable, Sendable {
    case url, out, dir, checksum, header
    case rateLimit = "limit-rate"
    case maximumPerHost = "max-per-host"
    case bearerFile = "bearer-file"
    case cookieFile = "cookie-file"
    /// Only if `--columns` names them: many tables have such columns.
    case user, group
    /// In a shard of a list of a server.
    case server = "list-server"
    /// Only for `haul split`.
    case size
  }

  /// How a list is written.
  package enum Format: String, CaseIterable, Sendable {
    case list, csv, tsv, jsonl

    /// By the end of a file's name.
    init(of file: String) {
      let name = file.lowercased()
      let ends: [(String, Format)] = [
        (".csv", .csv), (".tsv", .tsv), (".jsonl", .jsonl), (".ndjson", .jsonl),
      ]
      self = ends.first { name.hasByteSuffix($0.0) }?.1 ?? .list
    }
  }

  package private(set) var entries: [InputList.Entry] = []
  private let format: Format
  /// The column of each meaning.
  private let columns: [Meaning: String]
  /// Those that are named otherwise than what they mean.
  private let wanted: [Meaning: String]
  /// What the names that were seen say of digests. Only those of other columns are looked up.
  private var digests: [String: DigestColumn?] = [:]
  /// The columns that no meaning is known of, in the order of the list.
  private(set) var others: [String] = []
  /// The names of the columns; nil before the first row.
  private var header: [String]?
  /// The number of the next line.
  private(set) var line = 1

  /// - Parameter columns: those that are named otherwise than what they mean.
  init(as format: Format, columns: [Meaning: String]) {
    (self.format, wanted) = (format, columns)
    let known = Meaning.allCases.filter { $0 != .user && $0 != .group }.map { ($0, $0.rawValue) }
    self.columns = Dictionary(uniqueKeysWithValues: known).merging(columns) { $1 }
      .filter { !$0.value.isEmpty }
  }

  /// A whole list.
  package init(
    _ text: String, as format: Format, columns: [Meaning: String]
  ) throws(ParseError) {
    self.init(as: format, columns: columns)
    _ = try take(text, isLast: true)  // all of it
  }

  /// How many bytes of a piece are whole lines and, in a list of lines, whole entries.
  func wholeLength(of piece: ArraySlice<UInt8>) -> Int {
    if format == .list { return InputList.wholeLength(of: piece) }
    return piece.lastIndex(of: 0x0A).map { $0 + 1 - piece.startIndex } ?? 0
  }

  /// Reads the whole rows of the next piece.
  /// - Parameter isLast: whether nothing follows it.
  /// - Returns: how many bytes of it were read.
  mutating func take(_ piece: String, isLast: Bool) throws(ParseError) -> Int {
    switch format {
    case .list:
      let list = try InputList(piece, from: line)
      entries += list.entries
      line = list.lastLine
    case .csv: return try takeRows(piece, separator: UInt8(ascii: ","), isLast: isLast)
    case .tsv: return try takeRows(piece, separator: UInt8(ascii: "\t"), isLast: isLast)
    case .jsonl: try takeObjects(piece)
    }
    return piece.utf8.count
  }

  mutating func takeEntries() -> [InputList.Entry] {
    defer { entries = [] }
    return entries
  }

  private mutating func takeRows(
    _ piece: String, separator: UInt8, isLast: Bool
  ) throws(ParseError) -> Int {
    var table = TableText(piece, separator: separator, from: line, isLast: isLast)
    if header == nil, let first = try table.next() {
      try check(header: first)
      header = first.values
    }
    let header = header ?? []
    while let row = try table.next() {
      guard row.values.count == header.count else {
        throw ParseError(
          line: row.line,
          message: "it has \(row.values.count) values, and the first line \(header.count)")
      }
      try take(Dictionary(uniqueKeysWithValues: zip(header, row.values)), at: row.line)
    }
    line = table.line
    return table.used
  }

  private mutating func check(header: TableText.Row) throws(ParseError) {
    for name in wanted.values.filter({ !$0.isEmpty }).sorted() + [columns[.url] ?? ""]
    where !header.values.contains(name) {
      throw ParseError(
        line: header.line,
        message: "the first line has the names of the columns, and '\(name)' is none of them")
    }
    if let name = header.values.firstRepeated {
      throw ParseError(
        line: header.line, message: "the first line has two columns '\(name)'")
    }
    for name in header.values where digest(of: name) == .unclear {
      throw Self.unclear(name, at: header.line)
    }
  }

  /// What a column has of digests, beside that of checksums; nil for none, and if the user has said
  /// which column has them.
  private mutating func digest(of name: String) -> DigestColumn? {
    if let known = digests[name] { return known }
    let isNamed = columns.values.contains(name)
    let digest = isNamed || wanted[.checksum] != nil ? nil : DigestColumn(name)
    // A list of objects may have a new name in each of them.
    if digests.count < Self.mostNames {
      digests[name] = .some(digest)
      if !isNamed, digest == nil { others.append(name) }
    }
    return digest
  }

  private static let mostNames = 1000

  private static func unclear(_ name: String, at line: Int) -> ParseError {
    ParseError(
      line: line,
      message: "the column '\(name)' may be the digest of the file, or of something else; say "
        + "which column is it: --columns checksum=\(name), or --columns checksum= for none")
  }

  private mutating func takeObjects(_ text: String) throws(ParseError) {
    let lines = text.byteSplit(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let content = Data(line.utf8)
      guard content.contains(where: { ![0x20, 0x09, 0x0D].contains($0) }) else { continue }
      let number = self.line + index
      guard let object = try? JSONDecoder().decode([String: Scalar].self, from: content) else {
        throw ParseError(
          line: number, message: "it is no JSON object of texts and numbers")
      }
      // Of two values of one name, the last one would count without a word.
      guard Self.members(of: content) == object.count else {
        throw ParseError(line: number, message: "it has two values of one name")
      }
      // A value that is needed is not left out without a word: it may be a digest.
      for (name, value) in object
      where value == .other && (columns.values.contains(name) || digest(of: name) != nil) {
        throw ParseError(
          line: number, message: "the value of '\(name)' is no text and no number")
      }
      try take(object.mapValues { $0.text ?? "" }, at: number)
    }
    line += lines.count - 1
  }

  /// How many members an object has, which is valid JSON: each has a colon outside of texts.
  private static func members(of object: Data) -> Int {
    var (count, depth, isText, isEscaped) = (0, 0, false, false)
    for byte in object {
      if isText {
        isText = isEscaped || byte != UInt8(ascii: "\"")
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isText = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ":") where depth == 1: count += 1
      default: break
      }
    }
    return count
  }

  private mutating func take(
    _ values: [String: String], at line: Int
  ) throws(ParseError) {
    func value(_ meaning: Meaning) -> String? {
      columns[meaning].flatMap { values[$0] }.flatMap { $0.isEmpty ? nil : $0 }
    }
    guard let address = value(.url) else {
      throw ParseError(
        line: line, message: "there is no address in the column '\(columns[.url] ?? "")'")
    }
    for text in Meaning.allCases.filter({ $0 != .size }).compactMap(value)
    where text.hasByte(0) || text.hasByte(0x0A) || text.hasByte(0x0D) {
      throw Self.lineBreak(at: line)
    }
    var entry = InputList.Entry(line: line, address: address)
    (entry.out, entry.dir) = (value(.out), value(.dir))
    entry.checksums = try checksums(of: values, at: line)
    entry.headers = value(.header).map { [InputList.Option(line: line, text: $0)] } ?? []
    entry.rateLimit = value(.rateLimit).map { InputList.Option(line: line, text: $0) }
    entry.maximumPerHost = value(.maximumPerHost).map { InputList.Option(line: line, text: $0) }
    entry.user = value(.user).map { InputList.Option(line: line, text: $0) }
    entry.bearerFile = value(.bearerFile).map { InputList.Option(line: line, text: $0) }
    entry.cookieFile = value(.cookieFile).map { InputList.Option(line: line, text: $0) }
    entry.group = value(.group).map { InputList.Option(line: line, text: $0) }
    entry.server = value(.server).map { InputList.Option(line: line, text: $0) }
    entry.size = value(.size)
    entry.columns = values
    entries.append(entry)
  }

  /// The checksums of a row: of the column of checksums, and of those that are named as an
  /// algorithm, in the order of their names.
  private mutating func checksums(
    of values: [String: String], at line: Int
  ) throws(ParseError) -> [InputList.Option] {
    var texts: [String] = []
    if let name = columns[.checksum], let text = values[name], !text.isEmpty {
      texts.append(Self.checksum(text))
    }
    for (name, text) in values.sorted(by: { $0.key < $1.key }) {
      guard let digest = digest(of: name), !text.isEmpty else { continue }
      guard !text.hasByte(0), !text.hasByte(0x0A), !text.hasByte(0x0D) else {
        throw Self.lineBreak(at: line)
      }
      switch digest {
      case .checksum: texts.append(Self.checksum(text))
      case .algorithm(let algorithm): texts.append("\(algorithm.rawValue)=\(text)")
      case .unclear: throw Self.unclear(name, at: line)
      }
    }
    // One digest may be there twice, as its column and as that of checksums.
    return texts.enumerated().filter { !texts[..<$0.offset].contains($0.element) }
      .map { InputList.Option(line: line, text: $0.element) }
  }

  private static func lineBreak(at line: Int) -> ParseError {
    ParseError(line: line, message: "a value has a NUL or a line break")
  }

  /// The columns that an option names: `url=address,checksum=md5`.
  static func columns(_ text: String) throws(UsageError) -> [Meaning: String] {
    var columns: [Meaning: String] = [:]
    for pair in text.byteSplit(separator: ",") {
      let words = pair.byteSplit(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard words.count == 2, let meaning = Meaning(rawValue: String(words[0])),
        !words[1].isEmpty || meaning == .checksum
      else {
        let names = Meaning.allCases.filter { $0 != .server }.map(\.rawValue)
          .joined(separator: ", ")
        throw UsageError("it is written url=NAME,...; what a column may be: \(names)")
      }
      guard columns.updateValue(String(words[1]), forKey: meaning) == nil else {
        throw UsageError("\(words[0]) is given twice")
      }
    }
    return columns
  }

  /// A column often has the digits alone; their number says which digest they are.
  private static func checksum(_ text: String) -> String {
    guard text.allSatisfy(\.isHexDigit),
      let algorithm = Checksum.Algorithm.allCases.first(where: {
        !$0.isCRC && $0.byteCount * 2 == text.utf8.count
      })
    else { return text }
    return "\(algorithm.rawValue)=\(text)"
  }

  /// A value of an object, as text.
  private enum Scalar: Decodable, Hashable {
    case text(String)
    /// Null, or a text without a character: as an empty value of a row.
    case empty
    /// A list, an object, or a text that is no Unicode.
    case other

    var text: String? { if case .text(let text) = self { text } else { nil } }

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if value.decodeNil() {
        self = .empty
      } else if let integer = try? value.decode(Int64.self) {
        self = .text(String(integer))
      } else if let number = try? value.decode(Double.self) {
        self = .text("\(number)")
      } else if let flag = try? value.decode(Bool.self) {
        self = .text(String(flag))
      } else if let text = try? value.decode(String.self) {
        self = text.isEmpty ? .empty : .text(text)
      } else {
        self = .other
      }
    }
  }
}

extension [String] {
  /// An element that an earlier one equals, by its bytes.
  fileprivate var firstRepeated: String? {
    var known: Set<[UInt8]> = []
    return first { !known.insert([UInt8]($0.utf8)).inserted }
  }
}
