import HaulCore

/// Where the control interface listens, beside its own socket.
package enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
  /// - Parameter host: an address, or a name that is looked up.
  case tcp(host: String, port: Int)
  /// A Unix socket for a proxy, by its absolute path.
  case socket(path: String)

  /// Reads `ADDRESS:PORT`, `[ADDRESS]:PORT`, `NAME:PORT` or `unix:PATH`; nil for anything else.
  package init?(_ text: String) {
    if let path = text.dropping(bytePrefix: "unix:") {
      guard String(path).isAbsolutePath, !path.utf8.contains(0), path.utf8.count <= 107 else {
        return nil
      }
      self = .socket(path: String(path))
      return
    }
    guard let name = HostName(text), let port = name.port else { return nil }
    // It may be two addresses, of which another program may have one.
    self = .tcp(host: name.host.isByteEqual("localhost") ? "127.0.0.1" : name.host, port: port)
  }

  package var description: String {
    switch self {
    case .tcp(let host, let port): HostName(host: host, port: port).description
    case .socket(let path): "unix:\(path)"
    }
  }

  /// Whether only this machine can reach it. A name may be any address.
  package var isLocal: Bool {
    switch self {
    case .tcp(let host, _): IPAddress(host)?.unmapped.isLoopback ?? false
    case .socket: true
    }
  }

  /// Whether it is every address of the machine.
  package var isAny: Bool {
    guard case .tcp(let host, _) = self else { return false }
    return IPAddress(host)?.unmapped.bytes.allSatisfy { $0 == 0 } ?? false
  }
}

/// The host of an address, and perhaps its port, as `Host` has them.
package struct HostName: Hashable, Sendable, CustomStringConvertible {
  /// In lower case, without brackets.
  package let host: String
  package let port: Int?

  package init(host: String, port: Int?) { (self.host, self.port) = (host, port) }

  /// Reads `NAME`, `NAME:PORT`, and the same with an address; nil for anything else.
  package init?(_ text: String) {
    let text = text.lowercased()
    let bracket = text.hasBytePrefix("[") ? text.lastByteIndex(of: "]") : nil
    let colon = text.lastByteIndex(of: ":").flatMap { colon in
      bracket.map { colon > $0 } ?? true ? colon : nil
    }
    let name = String(colon.map { text[..<$0] } ?? text[...])
    guard let host = Self.host(name) else { return nil }
    self.host = host
    guard let colon else {
      port = nil
      return
    }
    let digits = text[text.utf8.index(after: colon)...]
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits)
    else { return nil }
    port = Int(number)
  }

  private static func host(_ text: String) -> String? {
    if text.hasBytes(":") || text.hasBytePrefix("[") {
      guard IPAddress(text) != nil, text.hasBytePrefix("[") else { return nil }
      return String(text.dropFirst().dropLast())
    }
    let isName = text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A: true
      default: "-._".utf8.contains(byte)
      }
    }
    guard isName, (1...253).contains(text.utf8.count), !text.hasBytePrefix("."),
      !text.hasBytePrefix("-"), !text.hasByteSuffix("."), !text.hasBytes("..")
    else { return nil }
    return text
  }

  package var description: String {
    let shown = host.hasBytes(":") ? "[\(host)]" : host
    return port.map { "\(shown):\($0)" } ?? shown
  }
}

/// The address at which a proxy offers the interface: `https://nas.example/haul/`.
package struct PublicAddress: Hashable, Sendable, CustomStringConvertible {
  /// As a browser sends it in `Host`: without the usual port.
  package let host: HostName
  /// It begins and ends with a slash.
  package let path: String

  /// Nil for anything but an https address without user, query and fragment, whose path is plain.
  package init?(_ text: String) {
    guard let rest = text.dropping(bytePrefix: "https://") else { return nil }
    let authority = String(rest.prefix(beforeAnyOf: "/"))
    let path = String(decoding: rest.utf8.dropFirst(authority.utf8.count), as: UTF8.self)
    guard let host = HostName(authority) else { return nil }
    self.host = HostName(host: host.host, port: host.port == 443 ? nil : host.port)
    self.path = path.hasByteSuffix("/") ? path : "\(path)/"
    // It becomes part of header fields.
    let isPlain = path.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "-._~/".utf8.contains(byte)
      }
    }
    guard isPlain, path.utf8.count <= 200, !path.hasBytes("//"), !path.hasBytes("..") else {
      return nil
    }
  }

  package var description: String { "https://\(host)\(path)" }
}

/// Where the certificate of the listeners comes from.
package enum CertificateSource: Hashable, Sendable {
  /// PEM files, by their absolute paths.
  case files(certificate: String, key: String)
  /// One that the daemon makes and keeps.
  case selfSigned
}
