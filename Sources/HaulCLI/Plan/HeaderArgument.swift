package import HaulCore

/// Header fields from `-H 'Name: value'` and `-H @FILE`.
package enum HeaderArgument {
  package typealias Field = HeaderFields.Field

  /// The fields of one `-H`; a file has one on each line, and empty lines are skipped.
  static func fields(
    _ text: String, _ sources: CommandSources
  ) throws(UsageError) -> [Field] {
    guard let path = text.dropping(bytePrefix: "@").map(String.init) else {
      return [try field(text, from: "-H")]
    }
    let content = try sources.text(of: path, for: .headers, named: "-H @\(path)")
    var fields: [Field] = []
    for line in content.byteSplit(separator: "\n").map({ $0.dropping(byteSuffix: "\r") ?? $0 })
    where !line.isEmpty {
      fields.append(try field(String(line), from: "-H @\(path)"))
    }
    return fields
  }

  /// One field (RFC 9110, section 5); messages never repeat values, which may be secrets.
  package static func field(_ text: String, from option: String) throws(UsageError) -> Field {
    guard let colon = text.firstByteIndex(of: ":") else {
      throw UsageError("\(option): a header is written 'Name: value'")
    }
    let name = String(text[..<colon])
    guard HeaderFields.isName(name) else {
      throw UsageError("\(option): the header's name is empty or has a forbidden character")
    }
    let value = String(text[text.utf8.index(after: colon)...].trimmingBytes(" \t"))
    guard HeaderFields.isValue(value) else {
      throw UsageError("\(option): the value of \(name) has a line break or a control character")
    }
    guard !HeaderFields.isReserved(name) else {
      throw UsageError("\(option): \(name) is set by haul itself and cannot be given")
    }
    return Field(name: name, value: value)
  }
}
