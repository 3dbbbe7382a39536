import FoundationEssentials

extension ProxyRules {
  /// A proxy server.
  public struct Proxy: Hashable, Sendable {
    /// Its protocol.
    public enum Kind: Hashable, Sendable {
      /// http in absolute form, https through CONNECT (RFC 9112, section 3.2).
      case http
      /// RFC 1928; the proxy looks up names.
      case socks5
    }

    /// Its protocol.
    public let kind: Kind
    /// Without brackets.
    public let host: String
    /// The default is 1080.
    public let port: Int
    package let credentials: ResourceURL.Credentials?

    /// Reads `[http://|socks5://|socks5h://][USER:PASSWORD@]HOST[:PORT]`. `socks://` means SOCKS5:
    /// desktops write it so.
    /// - Throws: `bad-url`, without the text, which may hold a password.
    public init(_ text: String) throws(TransferError) {
      var rest = text[...]
      var scheme = "http"
      if let separator = text.firstByteRange(of: "://") {
        scheme = text[..<separator.lowerBound].lowercased()
        rest = text[separator.upperBound...]
      }
      switch scheme {
      case "http": kind = .http
      case "socks", "socks5", "socks5h": kind = .socks5
      default:
        throw TransferError(
          .badURL, "a proxy's address begins with http://, socks5:// or socks5h://")
      }
      rest = rest.dropping(byteSuffix: "/") ?? rest
      var user: ResourceURL.Credentials?
      if let at = rest.lastByteIndex(of: "@") {
        user = try Self.credentials(rest[..<at], of: kind)
        rest = rest[rest.utf8.index(after: at)...]
      }
      credentials = user
      guard !rest.hasBytes("/") else {
        throw TransferError(.badURL, "a proxy's address has no path", advice: "leave it out")
      }
      (host, port) = try Self.endpoint(rest)
    }

    private static func credentials(
      _ text: Substring, of kind: Kind
    ) throws(TransferError) -> ResourceURL.Credentials {
      let parts = text.byteSplit(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let user = decoded(parts.first ?? "")
      let password = decoded(parts.count > 1 ? parts[1] : "")
      // SOCKS5 counts them in one byte (RFC 1929).
      guard kind == .http || (1...255).contains(user.utf8.count) && password.utf8.count <= 255
      else {
        throw TransferError(.badURL, "the user name or password is empty or too long for SOCKS5")
      }
      guard kind != .http || !user.hasBytes(":") else {
        throw TransferError(.badURL, "the user name has a colon")
      }
      return ResourceURL.Credentials(user: user, password: password)
    }

    private static func decoded(_ text: Substring) -> String {
      String(decoding: PercentCoding.decoded(String(text)), as: UTF8.self)
    }

    private static func endpoint(_ text: Substring) throws(TransferError) -> (String, Int) {
      var host = text
      var port = 1080
      let afterBracket = text.lastByteIndex(of: "]") ?? text.startIndex
      if let colon = text[afterBracket...].lastByteIndex(of: ":") {
        host = text[..<colon]
        let digits = text[text.utf8.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
          (1...65535).contains(number)
        else { throw TransferError(.badURL, "the proxy's port is a number from 1 to 65535") }
        port = number
      }
      if host.hasBytePrefix("[") {
        guard let address = IPAddress(String(host)), address.isIPv6 else {
          throw TransferError(.badURL, "the proxy's address in brackets is not an IPv6 address")
        }
        return (String(host.trimmingBytes("[]")), port)
      }
      guard !host.isEmpty, host.utf8.allSatisfy(isHostByte) else {
        throw TransferError(.badURL, "the proxy's address has no host, or one that cannot be read")
      }
      return (host.lowercased(), port)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "-._".utf8.contains(byte)
      }
    }
  }
}

extension ProxyRules.Proxy: CustomStringConvertible {
  /// `HOST:PORT`, without the credentials.
  public var description: String { "\(host.hasBytes(":") ? "[\(host)]" : host):\(port)" }
}
