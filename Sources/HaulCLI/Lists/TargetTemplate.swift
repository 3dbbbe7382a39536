import Crypto
import HaulCore

/// Where the files of a list go on another server: a text with fields such as `{name}`, which each
/// address fills with its own values.
struct TargetTemplate: Sendable {
  private enum Part {
    case text(String)
    /// - Parameters:
    ///   - digits: how many of its first characters, or the least number of digits.
    ///   - isCertain: whether it is said to be no column of the list.
    case field(Field, digits: Int?, isCertain: Bool)
    /// A value of the list's row.
    case column(String)
  }

  private enum Field: String, CaseIterable {
    /// The name that a file of the address would get.
    case name
    /// The path, without its first slash: each name as that of a file.
    case path
    /// The host, without a port.
    case host
    /// The number of the address in the arguments and lists, from 1.
    case index
    /// The digest of the address, in hexadecimal digits: it spreads names evenly. `{url:sha256}`
    /// and `{column:sha256}` say which is meant if the list has such a column.
    case sha256
  }

  private let parts: [Part]
  /// Whether it is percent-encoded, so that the values are too.
  private let isAddress: Bool

  /// - Throws: for a brace that belongs to no field.
  init(_ text: String) throws(UsageError) {
    var (parts, literal) = ([Part](), [UInt8]())
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard Self.braces.contains(byte) else {
        literal.append(byte)
        continue
      }
      if rest.first == byte {
        literal.append(byte)
        rest.removeFirst()
        continue
      }
      guard byte == Self.braces[0], let end = rest.firstIndex(of: Self.braces[1]) else {
        throw UsageError("-o: a brace that belongs to the name is written twice: {{ or }}")
      }
      parts.append(.text(String(decoding: literal, as: UTF8.self)))
      literal = []
      parts.append(try Self.field(String(decoding: rest[..<end], as: UTF8.self)))
      rest = rest[rest.index(after: end)...]
    }
    parts.append(.text(String(decoding: literal, as: UTF8.self)))
    self.parts = parts
    isAddress = !PutPlan.isS3(text)
  }

  private static let braces = Array("{}".utf8)

  private static func field(_ text: String) throws(UsageError) -> Part {
    if let name = text.dropping(bytePrefix: columnPrefix) { return .column(String(name)) }
    let isOfAddress = text.hasBytePrefix(addressPrefix)
    let name = text.dropping(bytePrefix: addressPrefix) ?? text[...]
    let words = name.byteSplit(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let field = Field(rawValue: String(words[0])) else { return .column(text) }
    guard words.count > 1 else { return .field(field, digits: nil, isCertain: isOfAddress) }
    guard [.index, .sha256].contains(field), let digits = Int(words[1]), (1...64).contains(digits)
    else {
      throw UsageError("-o: {\(text)}: a number of digits is for {sha256:2} and {index:6}, 1 to 64")
    }
    return .field(field, digits: digits, isCertain: isOfAddress)
  }

  private static let (columnPrefix, addressPrefix) = ("column:", "url:")

  /// The columns of a list that it names.
  var columns: Set<String> {
    Set(parts.compactMap { if case .column(let name) = $0 { name } else { nil } })
  }

  /// The text for one address.
  /// - Parameter number: of the address, from 1.
  /// - Throws: for a column that its row has not, and for a field that is a column too.
  func text(for item: GetItem, number: Int) throws(UsageError) -> String {
    var text = ""
    for part in parts {
      let value: String
      switch part {
      case .text(let literal):
        text += literal
        continue
      case .field(let field, let digits, let isCertain):
        guard isCertain || item.columns[field.rawValue] == nil else {
          let name = field.rawValue
          throw UsageError(
            "-o: {\(name)} is a field of the address and a column of the list; write "
              + "{\(Self.columnPrefix)\(name)} or {\(Self.addressPrefix)\(name)}")
        }
        if field == .path {
          let names = try item.directories() + [FileName(item.url).text]
          text += names.map { isAddress ? PercentCoding.component($0) : $0 }.joined(separator: "/")
          continue
        }
        value = Self.value(of: field, digits, for: item.url, number)
      case .column(let name):
        guard let known = item.columns[name], !known.isEmpty else {
          let names = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
          throw UsageError(
            "-o: there is no column {\(name)}; the fields are \(names), and {{ is a brace")
        }
        value = known
      }
      text += isAddress ? PercentCoding.component(value) : value
    }
    guard parts.count == 1 || !text.pathNames.contains(where: { $0 == "." || $0 == ".." }) else {
      throw UsageError("-o: a part of the place would be '.' or '..'")
    }
    return text
  }

  private static func value(
    of field: Field, _ digits: Int?, for url: ResourceURL, _ number: Int
  ) -> String {
    switch field {
    case .name, .path: return FileName(url).text
    case .host: return url.origin.host
    case .index:
      let text = String(number)
      return String(repeating: "0", count: max(0, (digits ?? 0) - text.count)) + text
    case .sha256:
      let hex = SHA256.hash(data: Array(url.absoluteString.utf8)).hexDigits
      return digits.map { String(hex.prefix($0)) } ?? hex
    }
  }
}
