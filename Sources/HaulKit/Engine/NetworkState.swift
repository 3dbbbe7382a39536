#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Whether this machine has a network, as a port.
package protocol NetworkState: Sendable {
  /// Whether anything but this machine itself can be reached. A quick look, which does not block.
  var isUp: Bool { get }
}

/// Where nobody can tell.
package struct UnknownNetwork: NetworkState {
  package init() {}
  package var isUp: Bool { true }
}

/// The routes of this machine: without one that leads over an interface, there is no network.
package struct SystemNetwork: NetworkState {
  package init() {}

  package var isUp: Bool {
    #if canImport(Glibc)
      let (ipv4, ipv6) = (Self.text("/proc/net/route"), Self.text("/proc/net/ipv6_route"))
      // Where they are not told, nothing is known against it.
      guard ipv4 != nil || ipv6 != nil else { return true }
      return RouteTable.leadsOut(ipv4: ipv4 ?? "", ipv6: ipv6 ?? "")
    #else
      return true
    #endif
  }

  #if canImport(Glibc)
    private static func text(_ path: String) -> String? {
      guard let file = fopen(path, "re") else { return nil }
      defer { fclose(file) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 16 << 10)
      // More says nothing more.
      while bytes.count < 1 << 20 {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { break }
        bytes += buffer[..<count]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  #endif
}

/// The routes as Linux tells them.
package enum RouteTable {
  private static let isUpFlag: UInt32 = 1
  private static let rejectsFlag: UInt32 = 0x200

  /// Whether one of them leads to other machines.
  /// - Parameters:
  ///   - ipv4: what `/proc/net/route` holds: interface, destination, gateway, flags, of all but
  ///     this machine's own addresses.
  ///   - ipv6: what `/proc/net/ipv6_route` holds: destination and its prefix first, flags and
  ///     interface last.
  package static func leadsOut(ipv4: String, ipv6: String) -> Bool {
    ipv4.split(separator: "\n").dropFirst().contains { leadsOut(v4: fields($0)) }
      || ipv6.split(separator: "\n").contains { leadsOut(v6: fields($0)) }
  }

  private static func fields(_ line: Substring) -> [Substring] {
    line.split { $0 == " " || $0 == "\t" }
  }

  private static func leadsOut(v4 fields: [Substring]) -> Bool {
    guard fields.count > 3 else { return false }
    // Addresses that a machine gave itself, 169.254.0.0/16, reach nobody far. The bytes stand in
    // the machine's order.
    let isLinkLocal = fields[1].hasSuffix("FEA9") || fields[1].hasPrefix("A9FE")
    return fields[0] != "lo" && isUsable(fields[3]) && !isLinkLocal
  }

  private static func leadsOut(v6 fields: [Substring]) -> Bool {
    guard fields.count > 9 else { return false }
    // Those of the link only, and groups of machines.
    let isLocal = ["fe8", "fe9", "fea", "feb", "ff"].contains { fields[0].hasPrefix($0) }
    return fields[9] != "lo" && isUsable(fields[8]) && !isLocal
  }

  private static func isUsable(_ flags: Substring) -> Bool {
    guard let flags = UInt32(flags, radix: 16) else { return false }
    return flags & isUpFlag != 0 && flags & rejectsFlag == 0
  }
}
