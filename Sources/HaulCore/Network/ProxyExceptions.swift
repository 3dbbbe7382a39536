/// Hosts to reach without a proxy: the value of `NO_PROXY`, matched as curl does.
package struct ProxyExceptions: Hashable, Sendable {
  fileprivate enum Rule: Hashable, Sendable {
    case all
    case domain(String, port: Int?)
    case network(IPAddress, bits: Int, port: Int?)
  }

  private let rules: [Rule]

  /// Names (including subdomains), addresses, networks like `10.0.0.0/8`, each with an optional
  /// `:port`, or `*`; separated by commas or spaces.
  package init(_ list: String) {
    rules = Self.entries(of: list).map(Self.rule)
  }

  /// The first entry that is not a host, domain, address or network; nil if there is none.
  package static func unreadable(in list: String) -> String? {
    entries(of: list).first { !isReadable($0) }
  }

  private static func entries(of list: String) -> [String] {
    list.byteSplit { ", \t\r\n".utf8.contains($0) }.map(String.init)
  }

  private static func isReadable(_ text: String) -> Bool {
    if text == "*" || IPAddress(text) != nil { return true }
    let parts = text.byteSplit(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
        let network = IPAddress(String(parts[0]))
      else { return false }
      return bits <= network.bytes.count * 8
    }
    let (host, port) = splitPort(text)
    if let port, !(1...65535).contains(port) { return false }
    if IPAddress(host) != nil { return true }
    let domain = withoutLastDot(String(host.dropping(bytePrefix: ".") ?? host[...]))
    let labels = domain.byteSplit(separator: ".", omittingEmptySubsequences: false)
    // A name with a numeric last label would be an address, but this is not a valid one.
    return labels.allSatisfy(isLabel) && labels.last.map { Int($0) == nil } == true
  }

  private static func isLabel(_ label: Substring) -> Bool {
    !label.isEmpty
      && label.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
        default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
      }
  }

  package func contains(_ origin: ResourceURL.Origin) -> Bool {
    // Asked for each request, and most machines have no rule.
    guard !rules.isEmpty else { return false }
    let host = Self.withoutLastDot(origin.host)
    let address = IPAddress(host)
    return rules.contains { rule in
      switch rule {
      case .all: true
      case .domain(let domain, let port):
        (port ?? origin.port) == origin.port && address == nil
          && (host == domain || host.hasByteSuffix("." + domain))
      case .network(let network, let bits, let port):
        (port ?? origin.port) == origin.port && address?.hasPrefix(network, bits: bits) == true
      }
    }
  }

  private static func rule(_ text: String) -> Rule {
    if text == "*" { return .all }
    let parts = text.byteSplit(separator: "/", maxSplits: 1)
    if parts.count == 2, let network = IPAddress(String(parts[0])), let bits = Int(parts[1]) {
      return .network(network, bits: bits, port: nil)
    }
    if let address = IPAddress(text) { return .address(address, nil) }
    let (host, port) = splitPort(text)
    if let address = IPAddress(host) { return .address(address, port) }
    return .domain(
      withoutLastDot(String(host.dropping(bytePrefix: ".") ?? host[...]).lowercased()), port: port)
  }

  private static func splitPort(_ text: String) -> (String, Int?) {
    guard let colon = text.lastByteIndex(of: ":"),
      let port = Int(text[text.utf8.index(after: colon)...])
    else { return (text, nil) }
    return (String(text[..<colon]), port)
  }

  private static func withoutLastDot(_ host: String) -> String {
    host.dropping(byteSuffix: ".").map(String.init) ?? host
  }
}

extension ProxyExceptions.Rule {
  fileprivate static func address(_ address: IPAddress, _ port: Int?) -> Self {
    .network(address, bits: address.bytes.count * 8, port: port)
  }
}
