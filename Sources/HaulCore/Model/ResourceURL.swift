public import FoundationEssentials

/// An absolute http or https address, parsed once. User information moves to `credentials`.
public struct ResourceURL: Hashable, Sendable {
  /// Scheme, host and port: decides whether secrets may be sent (RFC 9110, section 4.3.1).
  public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// Shared between copies, like the address.
    private final class Parts: Sendable {
      let scheme: String
      let host: String
      let port: Int
      let authority: String

      init(_ scheme: String, _ host: String, _ port: Int) {
        (self.scheme, self.host, self.port) = (scheme, host, port)
        let isIPv6 = host.hasByte(UInt8(ascii: ":"))
        let name = isIPv6 ? "[\(host.replacingBytes("%", with: "%25"))]" : host
        authority = port == (scheme == "https" ? 443 : 80) ? name : "\(name):\(port)"
      }
    }

    private let parts: Parts

    /// `http` or `https`.
    public var scheme: String { parts.scheme }
    /// In lower case; without the brackets of an IPv6 address, and with its zone.
    public var host: String { parts.host }
    /// The given port, or the default of the scheme.
    public var port: Int { parts.port }
    /// As in an address, without the scheme's default port.
    package var authority: String { parts.authority }
    /// The value of `Host`: without a zone, which is of this machine (RFC 9110, section 7.2; RFC
    /// 6874, section 4).
    package var hostField: String {
      guard host.hasByte(UInt8(ascii: "%")) else { return authority }
      let address = String(host.prefix(beforeAnyOf: "%"))
      return ResourceURL.Origin(scheme: scheme, host: address, port: port).authority
    }

    init(scheme: String, host: String, port: Int) { parts = Parts(scheme, host, port) }

    /// `scheme://host:port`.
    public var description: String {
      "\(scheme)://\(host.hasBytes(":") ? "[\(host)]" : host):\(port)"
    }

    /// The authority contains host and port.
    public static func == (left: Origin, right: Origin) -> Bool {
      left.parts === right.parts || left.authority == right.authority && left.scheme == right.scheme
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(scheme)
      hasher.combine(authority)
    }
  }

  /// A user name and password given inside an address.
  package struct Credentials: Hashable, Sendable {
    package let user: String
    package let password: String

    package init(user: String, password: String) {
      self.user = user
      self.password = password
    }

    /// The value of an `Authorization` field (RFC 7617).
    package var basic: String {
      "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
  }

  /// The parts of an address, shared because it is copied with every event and request.
  private final class Parts: Hashable, Sendable {
    let absoluteString: String
    let origin: Origin
    let credentials: Credentials?
    let path: String
    let query: String?

    init(
      _ absoluteString: String, _ origin: Origin, _ credentials: Credentials?, path: String,
      query: String?
    ) {
      self.absoluteString = absoluteString
      self.origin = origin
      self.credentials = credentials
      self.path = path
      self.query = query
    }

    /// The text contains everything except the user information.
    static func == (left: Parts, right: Parts) -> Bool {
      left === right
        || (left.absoluteString == right.absoluteString && left.credentials == right.credentials)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(absoluteString) }
  }

  private let parts: Parts

  /// The address in the form in which it is sent: without user information and fragment.
  package var absoluteString: String { parts.absoluteString }
  /// The whole address with its secrets, including user information. Print `redacted` where others
  /// may read it.
  public var text: String {
    guard let credentials, var parts = URLComponents(string: absoluteString) else {
      return absoluteString
    }
    (parts.user, parts.password) = (credentials.user, credentials.password)
    return parts.string ?? absoluteString
  }
  /// The address as a Foundation URL, with its secrets; nil if Foundation cannot read it.
  public var url: URL? { URL(string: text) }
  /// Decides whether secrets may be sent.
  public var origin: Origin { parts.origin }
  package var credentials: Credentials? { parts.credentials }
  /// The percent-encoded path, at least `/`. It may be a secret.
  public var path: String { parts.path }
  /// Percent-encoded.
  package var query: String? { parts.query }

  /// Parses an absolute address.
  /// - Throws: `bad-url` if it has no scheme or host or is not an address, `unsupported-scheme` if
  ///   it is neither http nor https.
  public init(_ text: String) throws(TransferError) {
    if let url = ResourceURL(plain: text) {
      self = url
      return
    }
    guard let url = URL(string: AddressEscapes.completed(text)),
      let scheme = url.scheme?.lowercased()
    else {
      guard !text.isEmpty else { throw TransferError(.badURL, "the address is empty") }
      throw text.lowercased().hasBytePrefix("http")
        ? TransferError(
          .badURL, "the address cannot be read", advice: "check its host and port")
        : TransferError(
          .badURL, "not an absolute address",
          advice: "it should begin with https:// or http://")
    }
    try self.init(url, scheme: scheme)
  }

  /// Parses an address as most lists have them; nil for any other, also for a valid one.
  package init?(plain text: String) {
    guard let plain = SimpleURLParser(text) else { return nil }
    let origin = Origin(scheme: plain.scheme, host: plain.host, port: plain.port)
    self.init(Parts(text, origin, nil, path: plain.path, query: plain.query))
  }

  /// Parses a Foundation URL; a relative one is resolved against its base.
  /// - Throws: as `init(_:)` of a text.
  public init(_ url: URL) throws(TransferError) { try self.init(url.absoluteString) }

  private init(_ url: URL, scheme: String) throws(TransferError) {
    guard scheme == "http" || scheme == "https" else {
      throw TransferError(
        .unsupportedScheme, "the scheme \(scheme) is not supported", advice: "use http or https")
    }
    guard let sent = Sent(url, scheme: scheme) else {
      throw TransferError(.badURL, "the address has no host")
    }
    guard Self.isHost(sent.host) else {
      throw TransferError(.badURL, "the address has an invalid host")
    }
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    guard (1...65535).contains(port) else {
      throw TransferError(.badURL, "the port is out of range")
    }
    guard let text = sent.parts.string, sent.isReadable else {
      throw TransferError(.badURL, "the address cannot be read")
    }
    parts = Parts(
      text, Origin(scheme: scheme, host: sent.host, port: port), sent.credentials,
      path: sent.parts.percentEncodedPath, query: sent.parts.percentEncodedQuery)
  }

  /// Whether it is an IPv6 address, or could be a name, because escapes may decode to anything.
  private static func isHost(_ host: String) -> Bool {
    if host.utf8.contains(UInt8(ascii: ":")) {
      let zone = host.firstByteIndex(of: "%").map { host[$0...].utf8.dropFirst() }
      return IPAddress(host: host) != nil
        && zone.map { !$0.isEmpty && $0.allSatisfy(PercentCoding.isUnreserved) } ?? true
    }
    return host.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A, 0x80...: true
      default: "-._~".utf8.contains(byte)
      }
    }
  }

  /// Whether the percent-decoded path is text.
  package var hasTextualPath: Bool {
    !path.hasByte(UInt8(ascii: "%"))
      || String(validating: PercentCoding.decoded(path), as: UTF8.self) != nil
  }

  /// The address that a text of our own means, relative to this one. For the text of a server,
  /// `named(by:)` is there.
  /// - Throws: as `init(_:)`.
  package func resolving(_ location: String) throws(TransferError) -> ResourceURL {
    guard let base = URL(string: absoluteString),
      let url = URL(string: AddressEscapes.completed(location), relativeTo: base)?.absoluteURL,
      let scheme = url.scheme?.lowercased()
    else { throw TransferError(.badURL, "the redirect's address cannot be read") }
    return try ResourceURL(url, scheme: scheme)
  }

  /// The same path and query at another origin.
  func at(_ origin: Origin) -> ResourceURL {
    ResourceURL(
      Parts(
        "\(origin.scheme)://\(origin.authority)\(pathAndQuery)", origin, credentials, path: path,
        query: query))
  }

  /// The same address with the other's user information, if both have the same origin.
  package func adoptingCredentials(of other: ResourceURL) -> ResourceURL {
    origin == other.origin ? taking(other.credentials) : self
  }

  /// The same address with this user information.
  package func taking(_ credentials: Credentials?) -> ResourceURL {
    ResourceURL(
      Parts(absoluteString, origin, credentials, path: path, query: query))
  }

  /// The same resource with this percent-encoded query.
  package func taking(query: String) -> ResourceURL {
    ResourceURL(
      Parts(
        "\(absoluteString.prefix(beforeAnyOf: "?"))?\(query)", origin, credentials, path: path,
        query: query))
  }

  /// The same address with its host in lower case, and without the default port of its scheme
  /// (RFC 9110, section 4.2.3).
  package var normalized: ResourceURL {
    hasNormalizedOrigin ? self : at(origin)
  }

  /// In contiguous memory, because each hit of a cache asks.
  private var hasNormalizedOrigin: Bool {
    absoluteString.utf8.withContiguousStorageIfAvailable { text in
      origin.authority.utf8.withContiguousStorageIfAvailable { authority in
        let rest = text.dropFirst(origin.scheme.utf8.count + 3)
        return rest.starts(with: authority)
          && rest.dropFirst(authority.count).first == UInt8(ascii: "/")
      } ?? false
    } ?? false
  }

  /// An address that begins with this one.
  /// - Parameter path: percent-encoded, without a query.
  /// - Throws: as `init(_:)`.
  func appending(path rest: String) throws(TransferError) -> ResourceURL {
    let text = absoluteString + rest
    guard query == nil, SimpleURLParser.isPath(rest, after: path) else {
      return try ResourceURL(text).taking(credentials)
    }
    return ResourceURL(Parts(text, origin, credentials, path: path + rest, query: nil))
  }

  private init(_ parts: Parts) { self.parts = parts }

  /// In place of an address that is not known yet. It has no host, so nothing connects to it.
  package static let unknown = ResourceURL(
    Parts("", Origin(scheme: "https", host: "", port: 443), nil, path: "/", query: nil))

  /// The path and query of a request line.
  package var pathAndQuery: String { query.map { "\(path)?\($0)" } ?? path }
}

extension ResourceURL: CustomStringConvertible {
  /// The redacted form.
  public var description: String { redacted }
}

/// The parts of an address that are sent, and those that are not.
private struct Sent {
  /// In lower case; an IPv6 address without brackets.
  let host: String
  let credentials: ResourceURL.Credentials?
  let parts: URLComponents

  /// Nil without a host.
  init?(_ url: URL, scheme: String) {
    guard let whole = url.host(percentEncoded: false), !whole.isEmpty,
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return nil }
    // The name of an interface may have capital letters.
    let name = whole.trimmingBytes("[]")
    let end = name.firstByteIndex(of: "%") ?? name.endIndex
    host = name[..<end].lowercased() + name[end...]
    let password = parts.password ?? ""
    // An empty user, as in `http://@host/`, is none.
    credentials = parts.user.flatMap { user in
      user.isEmpty && password.isEmpty
        ? nil : ResourceURL.Credentials(user: user, password: password)
    }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    parts.scheme = scheme
    let path = parts.percentEncodedPath
    parts.percentEncodedPath = path.isEmpty ? "/" : DotSegments.removed(from: path)
    self.parts = parts
  }

  /// Whether its text can be parsed again as the same address. Some international names cannot, in
  /// their DNS form.
  var isReadable: Bool {
    if host.utf8.allSatisfy({ $0 < 0x80 }), !host.hasBytes("xn--") { return true }
    guard let text = parts.string, let scheme = parts.scheme, let url = URL(string: text),
      let again = Sent(url, scheme: scheme)
    else { return false }
    return again.host == host && again.parts.string == text
  }
}
