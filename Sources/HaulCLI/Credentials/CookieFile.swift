package import HaulCore

/// A cookie file in Netscape format: seven fields on each line, separated by tabs.
package struct CookieFile: Hashable, Sendable {
  /// Why a text is not such a file; never repeats its content.
  package struct ParseError: Error, Hashable, Sendable {
    package let line: Int
    package let message: String
  }

  private var byDomain: [String: [Cookie]] = [:]

  /// Parses a file. `#HttpOnly_` begins a cookie; any other `#` begins a comment.
  package init(_ text: String) throws(ParseError) {
    var number = 0
    for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      var content = Substring(line)
      if content.utf8.last == 0x0D { content = Substring(content.utf8.dropLast()) }
      if let cookie = content.dropping(bytePrefix: Self.httpOnly) {
        content = cookie
      } else if content.hasBytePrefix("#") {
        continue
      }
      if content.droppingBytes(" \t").isEmpty { continue }
      let cookie = try Cookie(content, line: number, order: number)
      byDomain[cookie.domain, default: []].append(cookie)
    }
  }

  private static let httpOnly = "#HttpOnly_"

  /// The cookies for the address, in the order they are sent: longer paths first (RFC 6265, section
  /// 5.4).
  /// - Parameter wallSeconds: the time, in seconds since 1970.
  package func pairs(for url: ResourceURL, at wallSeconds: Double) -> [String] {
    let host = url.origin.host
    var found: [Cookie] = []
    for domain in Self.domains(of: host) {
      guard let cookies = byDomain[domain] else { continue }
      found += cookies.filter { cookie in
        (cookie.includesSubdomains || domain == host) && cookie.matches(path: url.path)
          && (!cookie.isSecure || url.origin.scheme == "https")
          && cookie.expires.map { $0 > wallSeconds } ?? true
      }
    }
    found.sort { ($1.path.utf8.count, $0.order) < ($0.path.utf8.count, $1.order) }
    return found.map { "\($0.name)=\($0.value)" }
  }

  /// The host and all its parent domains; an IP address has none (RFC 6265, section 5.1.3).
  private static func domains(of host: String) -> [String] {
    guard !host.hasBytes(":"), IPAddress(host) == nil else {
      return [host]
    }
    var domains = [host]
    var rest = host[...]
    while let dot = rest.firstByteIndex(of: ".") {
      rest = rest[rest.utf8.index(after: dot)...]
      domains.append(String(rest))
    }
    return domains
  }
}
