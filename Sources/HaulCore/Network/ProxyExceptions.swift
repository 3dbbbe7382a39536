/// Hosts that are spoken to without a proxy: the value of `NO_PROXY`, matched as curl does.
package struct ProxyExceptions: Hashable, Sendable {
  fileprivate enum Rule: Hashable, Sendable {
    case all
    case domain(String, port: Int?)
    case network(IPAddress, bits: Int, port: Int?)
  }

  private let rules: [Rule]

  /// Names (with all below them), addresses, networks like `10.0.0.0/8`, each with an optional `:port`, or `*`; separated by
  /// commas or spaces.
  package init(_ list: String) {
    rules = list.split { $0 == "," || $0.isWhitespace }.map { Self.rule(String($0)) }
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
