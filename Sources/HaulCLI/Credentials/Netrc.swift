package import HaulCore

/// The names and passwords of a netrc file, in the format of ftp(1), with curl's quoted tokens.
package struct Netrc: Hashable, Sendable {
  /// A `machine`, or `default` if it has no host.
  struct Entry: Hashable, Sendable {
    var host: String?
    var login: String?
    var password: String?
    /// Why it cannot be used.
    var problem: ParseError?
  }

  private var byHost: [String: [Entry]] = [:]
  private var defaults: [Entry] = []
  /// The first word before all entries that is of another program: it was left out.
  package private(set) var skipped: ParseError?

  /// Parses a file; macros are skipped, and words of other programs with their values, such as
  /// `protocol https`. Before the first entry they are left out one by one, as by curl and wget.
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
        if word != "account", value.hasByte(0) {
          current?.problem = ParseError(line: line, message: "the \(word) is not UTF-8 text")
        }
      default:
        let problem = ParseError(
          line: line, message: "expected machine, default, login, password, account or macdef")
        guard current != nil else {
          skipped = skipped ?? problem
          continue
        }
        var ahead = scanner
        if let (value, _) = try ahead.keyword(), !Self.keywords.contains(value) {
          scanner = ahead
        } else {
          // Rather a rest of a password with a space.
          current?.problem = problem
        }
      }
    }
    append(current)
    // It has no entry, so it is a file of another kind.
    if current == nil, let skipped { throw skipped }
  }

  private static let keywords: Set = [
    "machine", "default", "macdef", "login", "password", "passwd", "account",
  ]

  private mutating func append(_ entry: Entry?) {
    guard let entry else { return }
    if let host = entry.host {
      byHost[host, default: []].append(entry)
    } else {
      defaults.append(entry)
    }
  }

  /// The first name and password of each host. `default` is not for hosts that a server names.
  package var logins: [String: ResourceURL.Credentials] {
    byHost.keys.reduce(into: [:]) { logins, host in
      // An entry that cannot be used is not sent to where a redirect leads.
      guard let found = try? credentials(host: host) else { return }
      logins[host] = ResourceURL.Credentials(user: found.user, password: found.password)
    }
  }

  /// The first name and password for the host; `default` applies to hosts without an entry. Without
  /// any, the first entry with one of both counts, as in curl: the other is empty.
  /// - Parameter user: if given, only this user's password is returned.
  /// - Throws: if the entry cannot be used.
  package func credentials(
    host: String, user: String? = nil
  ) throws(ParseError) -> (user: String, password: String)? {
    let entries = byHost[host.lowercased()] ?? defaults
    for entry in entries {
      if let problem = entry.problem { throw problem }
      guard let login = entry.login ?? user, let password = entry.password else { continue }
      if user == nil || login == user { return (login, password) }
    }
    guard user == nil, let half = entries.first(where: { ($0.login ?? $0.password) != nil }) else {
      return nil
    }
    return (half.login ?? "", half.password ?? "")
  }
}
