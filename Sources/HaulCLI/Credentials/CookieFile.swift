package import HaulCore

/// A cookie file in Netscape format: seven fields on each line, separated by tabs.
package struct CookieFile: Hashable, Sendable {
  /// A cookie with a NUL has bytes that are not UTF-8, and cannot be sent.
  package private(set) var jar = CookieJar()
  /// The lines that are no cookies, and were left out.
  package private(set) var skipped: [ParseError] = []

  /// Parses a file. `#HttpOnly_` begins a cookie; any other `#` begins a comment. Lines that are no
  /// cookies are skipped, as browsers write some.
  /// - Throws: if there is no other line.
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
      do throws(ParseError) {
        jar.add(try Self.cookie(content, line: number))
      } catch {
        skipped.append(error)
      }
    }
    if jar.isEmpty, let first = skipped.first(where: { $0.message != Self.nameless }) {
      throw first
    }
  }

  private static let httpOnly = "#HttpOnly_"
  /// RFC 6265bis allows them; whether a server understands them is not known.
  private static let nameless = "the cookie has no name"

  private static func cookie(_ text: Substring, line: Int) throws(ParseError) -> Cookie {
    func error(_ message: String) -> ParseError { ParseError(line: line, message: message) }
    let fields = text.byteSplit(separator: "\t", omittingEmptySubsequences: false)
    // An empty value may be left out, with its tab.
    guard fields.count == 7 || fields.count == 6 else {
      throw error("a cookie has seven fields, separated by tabs")
    }
    guard let includesSubdomains = truth(fields[1]), let isSecure = truth(fields[3]) else {
      throw error("the second and the fourth field are TRUE or FALSE")
    }
    guard let expires = Double(fields[4]), expires.isFinite else {
      throw error("the fifth field is a time in seconds since 1970")
    }
    let (name, value) = (String(fields[5]), fields.count == 7 ? String(fields[6]) : "")
    guard !name.isEmpty else { throw error(nameless) }
    let others = "\(name)\(value)".replacingBytes("\0", with: "")
    guard Cookie.isSendable(others), !name.hasBytes("=") else {
      throw error("the cookie's name or value has a forbidden character")
    }
    return Cookie(
      name, value, domain: (fields[0].dropping(bytePrefix: ".") ?? fields[0]).lowercased(),
      includesSubdomains: includesSubdomains,
      path: fields[2].hasBytePrefix("/") ? String(fields[2]) : "/", isSecure: isSecure,
      expires: expires <= 0 ? nil : expires)
  }

  private static func truth(_ text: Substring) -> Bool? {
    switch text.uppercased() {
    case "TRUE": true
    case "FALSE": false
    default: nil
    }
  }
}
