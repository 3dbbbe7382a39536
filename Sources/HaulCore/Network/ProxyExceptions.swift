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
    rules = list.split { $0 == "," || $0.isWhitespace }.map { Self.rule(String($0)) }
  }

  /// The first entry that is not a host, domain, address or network; nil if there is none.
  package static func unreadable(in list: String) -> String? {
    list.split { $0 == "," || $0.isWhitespace }.map(String.init).first { !isReadable($0) }
  }

  private static func isReadable(_ text: String) -> Bool {
    if text == "*" || IPAddress(text) != nil { return true }
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
        let network = IPAddress(String(parts[0]))
      else { return false }
      return bits <= network.bytes.count * 8
    }
    let (host, port) = splitPort(text)
    if let port, !(1...65535).contains(port) { return false }
    if IPAddress(host) != nil { return true }
    let domain = withoutLastDot(String(host.trimmingPrefix(".")))
    let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
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
    let host = Self.withoutLastDot(origin.host)
    let address = IPAddress(host)
    return rules.contains { rule in
      switch rule {
      case .all: true
      case .domain(let domain, let port):
        (port ?? origin.port) == origin.port && address == nil
          && (host == domain || host.hasSuffix("." + domain))
      case .network(let network, let bits, let port):
        (port ?? origin.port) == origin.port && address?.hasPrefix(network, bits: bits) == true
      }
    }
  }

  private static func rule(_ text: String) -> Rule {
    if text == "*" { return .all }
    let parts = text.split(separator: "/", maxSplits: 1)
    if parts.count == 2, let network = IPAddress(String(parts[0])), let bits = Int(parts[1]) {
      return .network(network, bits: bits, port: nil)
    }
    if let address = IPAddress(text) { return .address(address, nil) }
    let (host, port) = splitPort(text)
    if let address = IPAddress(host) { return .address(address, port) }
    return .domain(withoutLastDot(String(host.trimmingPrefix(".")).lowercased()), port: port)
  }

  private static func splitPort(_ text: String) -> (String, Int?) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...])
    else { return (text, nil) }
    return (String(text[..<colon]), port)
  }

  private static func withoutLastDot(_ host: String) -> String {
    host.hasSuffix(".") ? String(host.dropLast()) : host
  }
}

extension ProxyExceptions.Rule {
  fileprivate static func address(_ address: IPAddress, _ port: Int?) -> Self {
    .network(address, bits: address.bytes.count * 8, port: port)
  }
}
