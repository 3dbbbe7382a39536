/// A complete head of an answer, in the form that a strict parser takes (decision 024). Lines in
/// which there is nothing to repair stay as they are.
struct RepairedHead {
  /// One field line.
  struct Field {
    var name: [UInt8]
    var value: [UInt8]
    /// The line as it came, without its end; nil if it has to be written anew.
    var line: ArraySlice<UInt8>?

    func isNamed(_ other: String) -> Bool {
      name.count == other.utf8.count
        && zip(name, other.utf8).allSatisfy { FieldScanner.lowercased($0) == $1 }
    }
  }

  private(set) var fields: [Field] = []
  private(set) var status = 0
  private(set) var isChunked = false
  private var statusLine: [UInt8] = []
  private var isOfHTTP10 = false
  /// Whether it could be read in another way, so that the connection must not be used again.
  private var wasFaulty = false

  /// - Throws: `protocol-violation` when its meaning is not certain.
  init(_ head: [UInt8]) throws(TransferError) {
    let lines = head.dropLast().split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for line in lines {
      let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      if text.count == line.count { wasFaulty = true }
      if text.isEmpty { continue }
      guard !text.contains(0), !text.contains(UInt8(ascii: "\r")) else {
        throw Self.invalid("a header field has a forbidden character")
      }
      if statusLine.isEmpty { try readStatus(text) } else { try read(text) }
    }
    fields.removeAll { $0.name.isEmpty }
    for index in fields.indices { decode(index) }
    try frame()
    // After an interim answer, another one comes.
    if wasFaulty, !(100..<200).contains(status) { close() }
  }

  var bytes: [UInt8] {
    var bytes = statusLine + [0x0D, 0x0A]
    for field in fields {
      if let line = field.line {
        bytes += line
      } else {
        bytes += field.name + Array(": ".utf8) + field.value
      }
      bytes += [0x0D, 0x0A]
    }
    return bytes + [0x0D, 0x0A]
  }

  static func invalid(_ why: String) -> TransferError {
    TransferError(.protocolViolation, "the answer is not valid HTTP: \(why)")
  }
}

/// Reading lines.
extension RepairedHead {
  /// `HTTP/1.x NNN reason` (RFC 9112, section 4). The reason means nothing, and may be missing.
  private mutating func readStatus(_ line: ArraySlice<UInt8>) throws(TransferError) {
    let parts = line.split(maxSplits: 2, whereSeparator: FieldScanner.isWhitespace)
    guard parts.count >= 2, parts[1].count == 3, parts[1].allSatisfy(FieldScanner.isDigit),
      let status = FieldScanner.decimal(parts[1]), let version = Self.version(parts[0])
    else { throw Self.invalid("its first line is not a status line") }
    self.status = Int(status)
    isOfHTTP10 = version.isByteEqual("HTTP/1.0")
    if !parts[0].elementsEqual(version.utf8) { wasFaulty = true }
    statusLine = Array(version.utf8) + [0x20] + parts[1]
    if parts.count > 2 {
      statusLine += [0x20] + parts[2].map(Self.shown)
    } else if let last = line.last, FieldScanner.isWhitespace(last) {
      statusLine.append(0x20)
    }
  }

  /// A higher minor version is read as 1.1 (RFC 9110, section 2.5). So are 2 and 3, which scripts
  /// behind another server write.
  private static func version(_ text: ArraySlice<UInt8>) -> String? {
    let text = text.map(FieldScanner.lowercased)
    guard text.starts(with: "http/".utf8) else { return nil }
    let numbers = text.dropFirst(5).split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard numbers.count <= 2, numbers.allSatisfy({ $0.count == 1 }),
      numbers.allSatisfy({ FieldScanner.isDigit($0[$0.startIndex]) })
    else { return nil }
    let digits = numbers.map { $0[$0.startIndex] - 0x30 }
    if digits == [1, 0] { return "HTTP/1.0" }
    return (digits[0] == 1 && digits.count == 2) || [2, 3].contains(digits[0]) ? "HTTP/1.1" : nil
  }

  private mutating func read(_ line: ArraySlice<UInt8>) throws(TransferError) {
    if let first = line.first, FieldScanner.isWhitespace(first) { return try fold(line) }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw Self.invalid("a line of the header has no colon")
    }
    let name = try Self.name(Self.trimmed(line[..<colon]))
    // RFC 9112, section 5.1: white space before the colon is removed from a response.
    if name.endIndex < colon, !name.isEmpty { wasFaulty = true }
    let value = Self.visible(line[(colon + 1)...])
    let isPlain =
      name.endIndex == colon
      && line[(colon + 1)...].drop(while: FieldScanner.isWhitespace).elementsEqual(value)
    fields.append(Field(name: Array(name), value: value, line: isPlain ? line : nil))
  }

  /// Empty for a field that nobody can know, such as `: x` or `X Y: z`. It is dropped, unless it
  /// may have been meant to say where the body ends.
  private static func name(_ text: ArraySlice<UInt8>) throws(TransferError) -> ArraySlice<UInt8> {
    if text.allSatisfy(FieldScanner.isTokenCharacter) { return text }
    let letters = text.map(FieldScanner.lowercased).filter(FieldScanner.isLetter)
    guard text.allSatisfy({ $0 == 0x20 || (0x21..<0x7F).contains($0) }),
      !letters.elementsEqual("transferencoding".utf8), !letters.elementsEqual("contentlength".utf8)
    else { throw invalid("a header field has no valid name") }
    return text.prefix(0)
  }

  /// Continues the last field, after one space (RFC 9112, section 5.2).
  private mutating func fold(_ line: ArraySlice<UInt8>) throws(TransferError) {
    guard var field = fields.popLast() else {
      throw Self.invalid("its first header field begins with a space")
    }
    field.value = Self.visible((field.value + [0x20] + Self.visible(line))[...])
    field.line = nil
    fields.append(field)
    wasFaulty = true
  }

  /// Values in another encoding than UTF-8. In an address their bytes are escaped.
  private mutating func decode(_ index: Int) {
    let field = fields[index]
    let isAddress = field.isNamed("location") || field.isNamed("content-location")
    let value =
      FieldText.returned.contains(where: field.isNamed)
      ? Array(FieldText.reversible(field.value).utf8)
      : FieldText.utf8(field.value, escaping: isAddress)
    guard let value, value != field.value else { return }
    (fields[index].value, fields[index].line) = (value, nil)
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = bytes.drop(while: FieldScanner.isWhitespace)
    let end = start.lastIndex { !FieldScanner.isWhitespace($0) }
    return start[..<(end.map { $0 + 1 } ?? start.startIndex)]
  }

  private static func visible(_ text: ArraySlice<UInt8>) -> [UInt8] {
    Array(trimmed(text.map(shown)[...]))
  }

  /// A control character means nothing, and a strict parser refuses it (RFC 9110, section 5.5).
  private static func shown(_ byte: UInt8) -> UInt8 {
    (byte < 0x20 && byte != UInt8(ascii: "\t")) || byte == 0x7F ? 0x20 : byte
  }
}

/// Where the body ends (RFC 9112, section 6.3).
extension RepairedHead {
  private mutating func frame() throws(TransferError) {
    let codings = values(of: "transfer-encoding").map { $0.lowercased() }
      .filter { !$0.isEmpty && !$0.isByteEqual("identity") && !$0.isByteEqual("none") }
    isChunked = !codings.isEmpty && codings.allSatisfy { $0.isByteEqual("chunked") }
    if isChunked {
      // A sender must not apply it twice (section 6.1), so that means once.
      keepOne("transfer-encoding", as: "chunked")
      wasFaulty = wasFaulty || isOfHTTP10
    } else if codings.isEmpty {
      remove("transfer-encoding")
    }
    // Other codings are refused later, by who knows the request.
    if codings.isEmpty { try checkLength() } else { remove("content-length") }
  }

  private mutating func checkLength() throws(TransferError) {
    let all = values(of: "content-length")
    guard !all.isEmpty else { return }
    // Empty elements of a list do not count (RFC 9110, section 5.6.1.2).
    let texts = all.filter { !$0.isEmpty }
    let lengths = texts.compactMap(ContentLength.length)
    guard lengths.count == texts.count, let length = lengths.first else {
      throw Self.invalid("its Content-Length cannot be read")
    }
    guard lengths.allSatisfy({ $0 == length }) else {
      throw Self.invalid("it has two different lengths")
    }
    // One line of digits stays, also with zeros before the number.
    if all.count == 1, texts[0].utf8.allSatisfy(FieldScanner.isDigit) { return }
    keepOne("content-length", as: String(length))
  }

  /// The parts of all lines of a list, without white space.
  private func values(of name: String) -> [String] {
    fields.filter { $0.isNamed(name) }.flatMap { field in
      String(decoding: field.value, as: UTF8.self)
        .byteSplit(separator: ",", omittingEmptySubsequences: false)
        .map { String($0.trimmingBytes(" \t")) }
    }
  }

  /// One line instead of several, or of another spelling.
  private mutating func keepOne(_ name: String, as value: String) {
    guard let first = fields.firstIndex(where: { $0.isNamed(name) }) else { return }
    let isUsual =
      fields[first].value.count == value.utf8.count
      && zip(fields[first].value, value.utf8).allSatisfy { FieldScanner.lowercased($0) == $1 }
    var kept = fields[first]
    if !isUsual { (kept.value, kept.line) = (Array(value.utf8), nil) }
    let count = fields.count
    fields.removeAll { $0.isNamed(name) }
    fields.insert(kept, at: first)
    if !isUsual || fields.count < count { wasFaulty = true }
  }

  private mutating func remove(_ name: String) {
    let count = fields.count
    fields.removeAll { $0.isNamed(name) }
    if fields.count < count { wasFaulty = true }
  }

  /// Makes it the last answer on its connection.
  private mutating func close() {
    // HTTP/1.0 keeps a connection that has both words.
    for index in fields.indices
    where fields[index].isNamed("connection") || fields[index].isNamed("proxy-connection") {
      let words = String(decoding: fields[index].value, as: UTF8.self).byteSplit(separator: ",")
        .filter { !$0.trimmingBytes(" \t").lowercased().isByteEqual("keep-alive") }
      fields[index].value = Array(words.joined(separator: ",").utf8)
      fields[index].line = nil
    }
    let says = fields.contains { $0.isNamed("connection") && $0.value.elementsEqual("close".utf8) }
    guard !says else { return }
    fields.append(
      Field(name: Array("Connection".utf8), value: Array("close".utf8), line: nil))
  }
}
