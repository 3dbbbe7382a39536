import HaulCore

/// Parses values of network options. Messages never repeat a value that may hold a password.
package enum NetworkArgument {
  /// One host with the address to use for it.
  package struct Resolution: Hashable, Sendable {
    package let host: String
    package let address: String
  }

  /// A proxy's address as typed; empty for none.
  package static func proxy(_ text: String) throws(UsageError) -> String {
    if !text.isEmpty { _ = try UsageError.checked(ProxyRules.Proxy(text), at: "--proxy") }
    return text
  }

  /// Hosts to reach without a proxy. The environment's `no_proxy` is not checked, because other
  /// programs read it too.
  package static func exceptions(_ text: String) throws(UsageError) -> String {
    guard let entry = ProxyExceptions.unreadable(in: text) else { return text }
    throw UsageError(
      "--noproxy: '\(entry)' is not a host, domain, address or network; "
        + "write a list like localhost,.example.org,10.0.0.0/8")
  }

  package static func address(_ text: String) throws(UsageError) -> String {
    guard IPAddress(text) != nil, !text.hasBytePrefix("[") else {
      throw UsageError("write an address of this machine, like 192.0.2.1 or 2001:db8::1")
    }
    return text
  }

  package static func resolution(_ text: String) throws(UsageError) -> Resolution {
    guard let colon = text.firstByteIndex(of: ":") else {
      throw UsageError("write HOST:ADDRESS, like example.org:192.0.2.1")
    }
    let name = try host(String(text[..<colon]))
    let given = String(text[text.utf8.index(after: colon)...])
    guard IPAddress(given) != nil else {
      throw UsageError("write HOST:ADDRESS, like example.org:192.0.2.1, without a port")
    }
    let bare = given.hasBytePrefix("[") ? String(given.trimmingBytes("[]")) : given
    return Resolution(host: name, address: bare)
  }

  /// A host name or IPv4 address, in lower case.
  package static func host(_ text: String) throws(UsageError) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy(isHostByte) else {
      throw UsageError("write the name of a host, like example.org")
    }
    return text.lowercased()
  }

  package static func userAgent(_ text: String) throws(UsageError) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw UsageError("the text is empty or has a control character")
    }
    return text
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._".utf8.contains(byte)
    }
  }
}
