/// Whether an address belongs to the public Internet.
extension IPAddress {
  /// What is not: this machine, private and link-local networks, multicast, and reserved blocks
  /// (RFC 6890).
  private static let restricted: [(IPAddress, bits: Int)] = [
    ("0.0.0.0", 8), ("10.0.0.0", 8), ("100.64.0.0", 10), ("127.0.0.0", 8), ("169.254.0.0", 16),
    ("172.16.0.0", 12), ("192.0.0.0", 24), ("192.168.0.0", 16), ("198.18.0.0", 15),
    ("224.0.0.0", 3), ("64:ff9b:1::", 48), ("fc00::", 7), ("fe80::", 9), ("ff00::", 8),
  ].compactMap { text, bits in IPAddress(text).map { ($0, bits) } }

  /// IPv6 blocks whose addresses contain an IPv4 address that begins at this byte: unspecified,
  /// loopback and IPv4-compatible, IPv4-mapped, NAT64, 6to4.
  private static let embedding: [(IPAddress, bits: Int, start: Int)] = [
    ("::", 96, 12), ("::ffff:0:0", 96, 12), ("64:ff9b::", 96, 12), ("2002::", 16, 2),
  ].compactMap { text, bits, start in IPAddress(text).map { ($0, bits, start) } }

  /// Whether it may be reached over the public Internet.
  package var isPublic: Bool {
    if let block = Self.embedding.first(where: { hasPrefix($0.0, bits: $0.bits) }) {
      return IPAddress(bytes: Array(bytes[block.start..<block.start + 4])).isPublic
    }
    return !Self.restricted.contains { hasPrefix($0.0, bits: $0.bits) }
  }

  private static let loopback: [(IPAddress, bits: Int)] = [
    ("127.0.0.0", 8), ("::1", 128),
  ].compactMap { text, bits in IPAddress(text).map { ($0, bits) } }

  /// Whether it is this machine itself (RFC 6890).
  package var isLoopback: Bool {
    Self.loopback.contains { hasPrefix($0.0, bits: $0.bits) }
  }

  /// The IPv4 address in an IPv4-mapped one, as a socket for both kinds reports it; else itself.
  package var unmapped: IPAddress {
    guard let mapped = IPAddress("::ffff:0:0"), hasPrefix(mapped, bits: 96) else { return self }
    return IPAddress(bytes: Array(bytes[12...]))
  }

  /// Of an IPv6 address, the network of 64 bits, which has one user mostly.
  package var network64: IPAddress {
    isIPv6 ? IPAddress(bytes: Array(bytes[..<8]) + [UInt8](repeating: 0, count: 8)) : self
  }

  /// Of an IPv6 address, the network of 48 bits, which has one organisation or home mostly.
  package var network48: IPAddress {
    isIPv6 ? IPAddress(bytes: Array(bytes[..<6]) + [UInt8](repeating: 0, count: 10)) : self
  }

  /// Whether a lower-case name stands for the loopback addresses without a lookup: `localhost` and
  /// every name below it (RFC 6761, section 6.3).
  package static func isLoopbackName(_ host: String) -> Bool {
    let name = host.dropping(byteSuffix: ".").map(String.init) ?? host
    return name.isByteEqual("localhost") || name.hasByteSuffix(".localhost")
  }
}

extension ProxyRules {
  /// Whether requests to this origin stay on this machine. A name is not enough: it may get another
  /// address.
  package func keepLocal(_ origin: ResourceURL.Origin) -> Bool {
    isDirect(to: origin) && IPAddress(origin.host)?.isLoopback == true
  }
}

extension ResourceURL.Origin {
  /// Whether its host has a private address without a lookup: it is one, or a name of this machine.
  package var isPrivateLiteral: Bool {
    if IPAddress.isLoopbackName(host) { return true }
    let name = host.dropping(byteSuffix: ".").map(String.init) ?? host
    // A zone is of this machine's network.
    if name.hasBytes("%") { return true }
    return (IPAddress(name) ?? IPAddress(number: name)).map { !$0.isPublic } ?? false
  }
}
