import TOMLKit

/// The configuration file: defaults of options, under their long names.
package struct SettingsFile {
  /// One key of the file.
  package struct Entry {
    package enum Value {
      case text(String)
      case texts([String])
      case truth(Bool)
    }

    package let key: String
    package var value: Value
  }

  package let path: String
  package var entries: [Entry] = []

  /// The file of this user; nil when there is none.
  static func read(_ sources: CommandSources) throws(UsageError) -> SettingsFile? {
    guard let path = path(sources.environment) else { return nil }
    let text: String?
    do {
      text = try sources.read(path, .configuration)
    } catch {
      throw UsageError("\(path): \(error.message)")
    }
    return try text.map { (text) throws(UsageError) in try SettingsFile(text, path: path) }
  }

  /// By the XDG Base Directory Specification: a relative `XDG_CONFIG_HOME` does not count.
  private static func path(_ environment: [String: String]) -> String? {
    if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") {
      return "\(base)/haul/config.toml"
    }
    guard let home = environment["HOME"], !home.isEmpty else { return nil }
    return "\(home)/.config/haul/config.toml"
  }

  package init(_ text: String, path: String) throws(UsageError) {
    self.path = path
    // The parser hands strings over as C has them, which would end at a NUL.
    guard !text.contains("\0"), !text.contains(#"\u0000"#), !text.contains(#"\U00000000"#) else {
      throw UsageError("\(path): a NUL is not allowed")
    }
    if let line = Self.oddTable(in: text) {
      throw UsageError("\(path): line \(line): a table; there are only options here")
    }
    let table: TOMLTable
    do {
      table = try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      throw UsageError("\(path): line \(error.source.begin.line): \(error.description)")
    } catch {
      throw UsageError("\(path): \(error)")
    }
    for (key, value) in table {
      guard let value = Entry.Value(value) else {
        throw UsageError(
          "\(path): \(key): the value must be a text, a whole number, true or false, or a list of "
            + "texts")
      }
      entries.append(Entry(key: key, value: value))
    }
  }
}

extension SettingsFile.Entry.Value {
  fileprivate init?(_ value: any TOMLValueConvertible) {
    switch value.type {
    case .string:
      guard let text = value.string else { return nil }
      self = .text(text)
    case .int:
      guard let number = value.int else { return nil }
      self = .text(String(number))
    case .bool:
      guard let truth = value.bool else { return nil }
      self = .truth(truth)
    case .array:
      guard let array = value.array else { return nil }
      let texts = array.compactMap(\.string)
      guard texts.count == array.count else { return nil }
      self = .texts(texts)
    case .double, .date, .time, .dateTime, .table:
      return nil
    }
  }
}
