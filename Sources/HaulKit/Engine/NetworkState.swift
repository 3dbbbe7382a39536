import HaulLibC

/// The port that knows whether this machine has a network.
package protocol NetworkState: Sendable {
  /// Whether any other machine can be reached. A quick check, which does not block.
  var isUp: Bool { get }
}

/// Used where the state of the network is unknown.
package struct UnknownNetwork: NetworkState {
  package init() {}
  package var isUp: Bool { true }
}

/// Reads this machine's routes: without a route over an interface there is no network.
package struct SystemNetwork: NetworkState {
  package init() {}

  package var isUp: Bool {
    #if canImport(Glibc)
      let (ipv4, ipv6) = (Self.text("/proc/net/route"), Self.text("/proc/net/ipv6_route"))
      // If the tables cannot be read, it assumes a network.
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
      // 1 MiB of a longer table is enough.
      while bytes.count < 1 << 20 {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { break }
        bytes += buffer[..<count]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  #endif
}

/// Linux's routing tables.
package enum RouteTable {
  private static let isUpFlag: UInt32 = 1
  private static let rejectsFlag: UInt32 = 0x200

  /// Whether one of them leads to other machines.
  /// - Parameters:
  ///   - ipv4: the text of `/proc/net/route`: interface, destination, gateway, flags.
  ///   - ipv6: the text of `/proc/net/ipv6_route`: destination and prefix first, flags and
  ///     interface last.
  package static func leadsOut(ipv4: String, ipv6: String) -> Bool {
    ipv4.byteSplit(separator: "\n").dropFirst().contains { leadsOut(v4: fields($0)) }
      || ipv6.byteSplit(separator: "\n").contains { leadsOut(v6: fields($0)) }
  }

  private static func fields(_ line: Substring) -> [Substring] {
    line.byteSplit { " \t".utf8.contains($0) }
  }

  private static func leadsOut(v4 fields: [Substring]) -> Bool {
    guard fields.count > 3 else { return false }
    // Link-local addresses (169.254.0.0/16) do not leave the link. The bytes are in the machine's
    // order.
    let isLinkLocal = fields[1].hasByteSuffix("FEA9") || fields[1].hasBytePrefix("A9FE")
    return fields[0] != "lo" && isUsable(fields[3]) && !isLinkLocal
  }

  private static func leadsOut(v6 fields: [Substring]) -> Bool {
    guard fields.count > 9 else { return false }
    // Link-local and multicast addresses.
    let isLocal = ["fe8", "fe9", "fea", "feb", "ff"].contains { fields[0].hasBytePrefix($0) }
    return fields[9] != "lo" && isUsable(fields[8]) && !isLocal
  }

  private static func isUsable(_ flags: Substring) -> Bool {
    guard let flags = UInt32(flags, radix: 16) else { return false }
    return flags & isUpFlag != 0 && flags & rejectsFlag == 0
  }
}
