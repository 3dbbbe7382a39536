import HaulControl
package import HaulCore

/// The configuration file: defaults of options, by their long names.
package struct SettingsFile {
  /// One line of the file.
  package struct Entry {
    package let line: Int
    package let key: String
    /// Nil for a name without a value.
    package let value: String?
    /// The server of its section; nil for a line above the first one.
    package let origin: ResourceURL.Origin?
  }

  package let path: String
  package private(set) var entries: [Entry] = []

  /// The user's file; nil if it does not exist.
  static func read(_ sources: CommandSources) throws(UsageError) -> SettingsFile? {
    guard let directory = ControlLocation.configuration(sources.environment) else { return nil }
    let path = "\(directory)/haul.conf"
    guard let text = try text(of: path, sources) else {
      let old = "\(directory)/config.toml"
      guard try self.text(of: old, sources) == nil else {
        throw UsageError(
          "\(old): haul reads haul.conf now; rename the file, and write each value on a line of "
            + "its own, without quotes or brackets")
      }
      return nil
    }
    let home = sources.environment["HOME"]
    let file = try SettingsFile(text, path: path, home: home)
    guard file.entries.contains(where: { $0.key == NoticeOptions.command }) else { return file }
    // Read again, because what was checked must be what is used.
    return try self.text(of: path, sources, for: .programs)
      .map { (text) throws(UsageError) in try SettingsFile(text, path: path, home: home) }
  }

  private static func text(
    of path: String, _ sources: CommandSources, for purpose: CommandSources.Purpose = .configuration
  ) throws(UsageError) -> String? {
    try UsageError.checked(sources.read(path, purpose), at: path)
  }

  /// Parses the text; option names are not checked here.
  package init(_ text: String, path: String, home: String?) throws(UsageError) {
    self.path = path
    var section: ResourceURL.Origin?
    do {
      try TextLine.read(text) { (line) throws(ParseError) in
        if line.text.hasBytePrefix("[") {
          guard let origin = Self.origin(ofSection: line.text) else {
            throw line.parseError(
              "a section is written [host example.com], or with http:// or :PORT")
          }
          section = origin
          return
        }
        let option = line.option
        // The value is used as it is, but `~` is expanded here, because no shell does it.
        var value = option?.value
        if let home, let text = value, text == "~" || text.hasBytePrefix("~/") {
          value = home + (text.dropping(bytePrefix: "~") ?? "")
        }
        let entry = Entry(
          line: line.number, key: option?.key ?? line.text, value: value, origin: section)
        if let reason = entry.parseError ?? repetition(entry) {
          throw line.parseError(reason)
        }
        entries.append(entry)
      }
    } catch {
      throw UsageError("\(path): line \(error.line): \(error.message)")
    }
  }

  private func repetition(_ entry: Entry) -> String? {
    guard !Self.repeatable.contains(entry.key) else { return nil }
    return entries.first { $0.key == entry.key && $0.origin == entry.origin }
      .map { "\(entry.key) is given twice, first on line \($0.line)" }
  }

  /// The server that `[host NAME]` names: over https, unless it says otherwise.
  private static func origin(ofSection line: String) -> ResourceURL.Origin? {
    guard let name = line.dropping(bytePrefix: "[host ")?.dropping(byteSuffix: "]") else {
      return nil
    }
    let address = name.trimmingBytes(" \t")
    let url = try? ResourceURL(address.hasBytes("://") ? String(address) : "https://\(address)")
    guard let url, url.path.isByteEqual("/"), url.query == nil, url.credentials == nil else {
      return nil
    }
    return url.origin
  }

  private static let repeatable: Set = [
    "header", "checksum", "checksum-file", "cookie", "cookie-file", "resolve", "trust-redirects",
    "root", "rule", "listen", "host", "proxy-user", "schedule",
    NoticeOptions.command,
  ]
}

extension SettingsFile.Entry {
  /// Why the line is invalid. Text that is perhaps not a name is not repeated: it may be a secret.
  fileprivate var parseError: String? {
    if key.hasBytes("://") {
      return "an address is for the command line, or for a list that -i names"
    }
    let isName = key.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A: true
      default: "-.".utf8.contains(byte)
      }
    }
    guard isName, !key.isEmpty, !key.hasBytePrefix("-"), key.utf8.count <= 24 else {
      return "write a line like limit-rate = 20M: the long name of an option, without its dashes"
    }
    if Self.commandLineOnly.contains(key) { return "\(key) is for the command line only" }
    if key.hasBytePrefix("no-") { return "\(key): write \(key.dropFirst(3)) = false" }
    if origin != nil, !Self.ofServers.contains(key) {
      return "\(key): a section for a host has \(Self.ofServers.sorted().joined(separator: ", "))"
    }
    guard let value else { return origin == nil ? nil : "\(key): a value is missing" }
    if value.isEmpty { return "\(key): a value is missing" }
    // With such a mark the parser does not find the `=`, and its message would repeat the value.
    guard "=\(value)".first == "=" else { return "\(key): the value begins with a combining mark" }
    if value.utf8.count > 1,
      "\"'".utf8.contains(where: { [value.utf8.first, value.utf8.last] == [$0, $0] })
    {
      return "\(key): write the value without quotes"
    }
    return nil
  }

  /// What a section for a host may have.
  private static let ofServers: Set = [
    "header", "bearer-file", "bearer-env", "user", "password-file", "cookie", "cookie-file",
  ]

  /// Options for one run only, and options that print something and end.
  private static let commandLineOnly: Set = [
    "output", "input-file", "columns", "input-format", "worker", "drain", "help", "help-hidden",
    "version", "generate-completion-script", "experimental-dump-help",
  ]
}
