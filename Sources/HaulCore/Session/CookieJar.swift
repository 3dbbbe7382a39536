/// The cookies of a session, by the rules of RFC 6265.
package struct CookieJar: Hashable, Sendable {
  private struct Entry: Hashable, Sendable {
    var cookie: Cookie
    /// When it was created, as a number that grows.
    let order: Int
  }

  /// By the whole domain.
  private var byDomain: [String: [Entry]] = [:]
  /// How many a server has set.
  private var received = 0
  /// Their bytes.
  package private(set) var receivedBytes = 0
  private var created = 0

  /// Limits for what servers set (section 6.1 asks for at least 50 of a domain).
  private static let maximumOfDomain = 60
  private static let maximum = 600
  /// For all that servers set: the cookies of one domain fit, and much less is sent.
  private static let maximumBytes = 320 << 10
  /// For one field: servers refuse more.
  private static let maximumField = 8190

  package init() {}

  package var isEmpty: Bool { byDomain.isEmpty }
  /// All of them, the older first.
  package var cookies: [Cookie] {
    byDomain.values.joined().sorted { $0.order < $1.order }.map(\.cookie)
  }

  /// Adds one of the user's own. It replaces the one of the same name, domain and path, and keeps
  /// its place (section 5.3, step 11).
  package mutating func add(_ cookie: Cookie) {
    var entries = byDomain[cookie.domain] ?? []
    if let index = entries.firstIndex(where: { $0.cookie.isSame(as: cookie) }) {
      entries[index].cookie = cookie
    } else {
      entries.append(Entry(cookie: cookie, order: created))
      created += 1
    }
    byDomain[cookie.domain] = entries
  }

  /// Takes what an answer sets (section 5.3).
  /// - Parameter isSuffix: whether a domain is a public suffix; nil if that is not known.
  package mutating func store(
    _ fields: HeaderFields, from url: ResourceURL, at wallSeconds: Double,
    isSuffix: (String) -> Bool?
  ) {
    for text in fields.values(of: "Set-Cookie") {
      guard let set = SetCookie(text), !set.violatesPrefix(from: url.origin),
        !set.isSecure || url.origin.keepsSecureCookies,
        let (domain, includesSubdomains) = Self.domain(set.domain, of: url.origin.host, isSuffix)
      else { continue }
      put(
        Cookie(
          set.name, set.value, domain: domain, includesSubdomains: includesSubdomains,
          path: set.path ?? Self.defaultPath(of: url), isSecure: set.isSecure,
          expires: set.expiry(at: wallSeconds), isReceived: true), url, wallSeconds)
    }
  }

  /// The domain that a cookie is for; nil if its host may not set it. Without a list of public
  /// suffixes, only the host itself gets it.
  private static func domain(
    _ wanted: String?, of host: String, _ isSuffix: (String) -> Bool?
  ) -> (String, includesSubdomains: Bool)? {
    guard let wanted, !wanted.isByteEqual(host) || IPAddress(host) == nil else {
      return (host, false)
    }
    guard wanted.isByteEqual(host) || host.hasByteSuffix(".\(wanted)") && IPAddress(host) == nil
    else { return nil }
    switch isSuffix(wanted) {
    case false?: return (wanted, true)
    case true?: return wanted.isByteEqual(host) ? (host, false) : nil
    case nil: return (host, false)
    }
  }

  /// Section 5.1.4.
  private static func defaultPath(of url: ResourceURL) -> String {
    guard let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > url.path.startIndex
    else {
      return "/"
    }
    return String(url.path[..<slash])
  }

  /// An expired cookie stays, to replace one that the user has given.
  private mutating func put(_ cookie: Cookie, _ url: ResourceURL, _ wallSeconds: Double) {
    var entries = byDomain[cookie.domain] ?? []
    if let index = entries.firstIndex(where: { $0.cookie.isSame(as: cookie) }) {
      // Plain http does not replace what https has set (RFC 6265bis, section 5.7).
      let old = entries[index].cookie
      guard !old.isSecure || url.origin.keepsSecureCookies else { return }
      let grown = receivedBytes + cookie.size - (old.isReceived ? old.size : 0)
      guard grown <= Self.maximumBytes else { return }
      if !old.isReceived { received += 1 }
      receivedBytes = grown
      entries[index].cookie = cookie
    } else {
      guard receivedBytes + cookie.size <= Self.maximumBytes else { return }
      let ofServers = entries.count { $0.cookie.isReceived }
      if ofServers >= Self.maximumOfDomain {
        removeOldest(of: &entries, wallSeconds)
      } else if received >= Self.maximum {
        return
      }
      entries.append(Entry(cookie: cookie, order: created))
      (created, received) = (created + 1, received + 1)
      receivedBytes += cookie.size
    }
    byDomain[cookie.domain] = entries
  }

  private mutating func removeOldest(of entries: inout [Entry], _ wallSeconds: Double) {
    let index =
      entries.firstIndex { $0.cookie.isReceived && !$0.cookie.isLive(at: wallSeconds) }
      ?? entries.firstIndex { $0.cookie.isReceived }
    guard let index else { return }
    receivedBytes -= entries.remove(at: index).cookie.size
    received -= 1
  }
}

/// What is sent.
extension CookieJar {
  /// The cookies for an address, in the order they are sent: longer paths first, then the older
  /// (section 5.4).
  package func cookies(for url: ResourceURL, at wallSeconds: Double) -> [Cookie] {
    known(for: url).filter { $0.isLive(at: wallSeconds) }
  }

  /// The value of a `Cookie` field; nil for none.
  /// - Parameters:
  ///   - given: the value that the user has given. A server replaces and deletes those too.
  ///   - withOwn: whether the user's own cookies count.
  package func field(
    for url: ResourceURL, at wallSeconds: Double, given: String? = nil, withOwn: Bool = true
  ) -> String? {
    let known = known(for: url).filter { withOwn || $0.isReceived }
    guard !known.isEmpty else { return given }
    let changed = Set(known.lazy.filter(\.isReceived).map { Array($0.name.utf8) })
    var pairs = (given ?? "").byteSplit(separator: ";").map { String($0.trimmingBytes(" ")) }
    pairs.removeAll { pair in
      pair.isEmpty || changed.contains(Array(pair.prefix(beforeAnyOf: "=").utf8))
    }
    let own = pairs
    var length = pairs.reduce(0) { $0 + $1.utf8.count + 2 }
    for cookie in known where cookie.isLive(at: wallSeconds) {
      let pair = cookie.pair
      if !cookie.isReceived, own.contains(where: pair.isByteEqual) { continue }
      length += pair.utf8.count + 2
      guard length <= Self.maximumField else { break }
      pairs.append(pair)
    }
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }

  private func known(for url: ResourceURL) -> [Cookie] {
    guard !isEmpty else { return [] }
    var found: [Entry] = []
    for domain in Self.domains(of: url.origin.host) {
      found += (byDomain[domain] ?? []).filter { $0.cookie.applies(to: url) }
    }
    found.sort { ($1.cookie.path.utf8.count, $0.order) < ($0.cookie.path.utf8.count, $1.order) }
    return found.map(\.cookie)
  }

  /// The host and all its parent domains; an IP address has none (section 5.1.3).
  private static func domains(of host: String) -> [String] {
    guard !host.hasBytes(":"), IPAddress(host) == nil else { return [host] }
    var domains = [host]
    var rest = host[...]
    while let dot = rest.firstByteIndex(of: ".") {
      rest = rest[rest.utf8.index(after: dot)...]
      domains.append(String(rest))
    }
    return domains
  }
}
