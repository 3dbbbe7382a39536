import HaulCore

let networkTargets = [
  Target(name: "ip-address") { input in
    guard let address = IPAddress(input.text) else { return }
    expect([4, 16].contains(address.bytes.count), "\(address.bytes.count) bytes")
    expect(address.hasPrefix(address, bits: address.bytes.count * 8), "not in its own network")
    let written =
      address.isIPv6
      ? stride(from: 0, to: 16, by: 2).map { index in
        String(UInt16(address.bytes[index]) << 8 | UInt16(address.bytes[index + 1]), radix: 16)
      }.joined(separator: ":") : address.bytes.map(String.init).joined(separator: ".")
    expect(IPAddress(written) == address, "\(written) is another address")
  },
  Target(name: "proxy") { input in
    guard let proxy = try? ProxyRules.Proxy(input.text) else { return }
    expect(!proxy.host.isEmpty && (1...65535).contains(proxy.port), "an odd endpoint")
    expect(!proxy.host.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a control in the host")
    guard let again = try? ProxyRules.Proxy(proxy.description) else {
      return expect(false, "it does not read what it says: \(proxy)")
    }
    expect(again.host == proxy.host && again.port == proxy.port, "another endpoint")
  },
  Target(name: "proxy-rules") { input in
    let parts = input.parts
    let exceptions = ProxyExceptions(parts[0])
    guard parts.count > 1, let url = try? ResourceURL(parts[1]) else { return }
    let isDirect = exceptions.contains(url.origin)
    // An exception more never takes one away.
    expect(!isDirect || ProxyExceptions("x.example," + parts[0]).contains(url.origin), "lost")
    expect(ProxyExceptions(parts[0] + ",*").contains(url.origin), "* does not stand for all")
  },
]
