import HaulCore

/// The names and passwords of a netrc file, in the format of ftp(1), with curl's quoted tokens.
package struct Netrc: Hashable, Sendable {
  /// A `machine`, or `default` if it has no host.
  struct Entry: Hashable, Sendable {
    var host: String?
    var login: String?
    var password: String?
  }

  /// Why a text is not a netrc file; never repeats its content.
  package struct ParseError: Error, Hashable, Sendable {
    package let line: Int
    package let message: String
  }

  private var byHost: [String: [Entry]] = [:]
  private var defaults: [Entry] = []

  /// Parses a file; macros are skipped.
  package init(_ text: String) throws(ParseError) {
    var scanner = NetrcScanner(text)
    var current: Entry?
    while let (word, line) = try scanner.keyword() {
      switch word {
      case "machine":
        append(current)
        current = Entry(host: try scanner.value(of: word, line: line).lowercased())
      case "default":
        append(current)
        current = Entry()
      case "macdef":
        _ = try scanner.value(of: word, line: line)
        scanner.skipMacro()
      case "login", "password", "passwd", "account":
        let value = try scanner.value(of: word, line: line)
        guard current != nil else {
          throw ParseError(line: line, message: "\(word) comes before any machine")
        }
        if word == "login" { current?.login = value }
        if word.hasBytePrefix("pass") { current?.password = value }
      default:
        throw ParseError(
          line: line, message: "expected machine, default, login, password, account or macdef")
      }
    }
    append(current)
  }

  private mutating func append(_ entry: Entry?) {
    guard let entry else { return }
    if let host = entry.host {
      byHost[host, default: []].append(entry)
    } else {
      defaults.append(entry)
    }
  }

  /// The first name and password for the host; `default` applies to hosts without an entry.
  /// - Parameter user: if given, only this user's password is returned.
  package func credentials(
    host: String, user: String? = nil
  ) -> (user: String, password: String)? {
    let entries = byHost[host.lowercased()] ?? defaults
    for entry in entries {
      guard let login = entry.login ?? user, let password = entry.password else { continue }
      if user == nil || login == user { return (login, password) }
    }
    return nil
  }
}
