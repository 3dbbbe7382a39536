import HaulCore
import NIOCore
import NIOSSL

/// Whether the certificate of a connection is for the requested name.
///
/// The TLS library compares names, but also accepts a certificate for the peer's address. With such
/// a certificate, an attacker that controls name lookup, or a proxy with a tunnel, could pose as
/// any host. So a certificate that lists addresses must also match by name. So must one with a
/// wildcard: for the library, `*` is every host with one label. The library refuses every name with
/// an underscore; those are compared here only.
package enum HostnameVerification {
  /// Whether the TLS library must leave the comparison to `check`.
  static func isOnlyHere(_ host: String) -> Bool { host.hasBytes("_") }

  /// The name of a host in a handshake: without its last dot (RFC 6066, section 3).
  package static func serverName(of host: String) -> String {
    guard let name = host.dropping(byteSuffix: ".").map(String.init), IPAddress(name) == nil else {
      return host
    }
    return name
  }

  /// - Throws: `tls` when the certificate is for another name.
  static func check(_ host: String, on channel: any Channel) throws {
    let tls = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    guard let certificate = tls.peerCertificate else { throw mismatch }
    let names = certificate._subjectAlternativeNames()
    let isDoubtful = names.contains {
      $0.nameType == .ipAddress || $0.contents.contains(UInt8(ascii: "*"))
    }
    guard isOnlyHere(host) || isDoubtful else { return }
    let fits = names.contains {
      $0.nameType == .dnsName && matches(String(decoding: $0.contents, as: UTF8.self), host)
    }
    guard fits else { throw mismatch }
  }

  /// The same for an address; only the certificate's own addresses count (RFC 9110, section 4.3.5).
  /// - Throws: `tls` when the certificate is for another one.
  static func check(_ address: IPAddress, on channel: any Channel) throws {
    let tls = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    let names = tls.peerCertificate?._subjectAlternativeNames()
    let fits =
      names?.contains {
        $0.nameType == .ipAddress && $0.contents.elementsEqual(address.bytes)
      } ?? false
    guard fits else { throw mismatch }
  }

  /// A wildcard stands for exactly one label, the first (RFC 9525, section 6.3).
  package static func matches(_ pattern: String, _ host: String) -> Bool {
    guard pattern.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
    let pattern = labels(pattern)
    let host = labels(host)
    guard pattern.count == host.count, pattern.dropFirst() == host.dropFirst() else { return false }
    return pattern.first == host.first || pattern.first == "*" && pattern.count > 2
  }

  private static func labels(_ name: String) -> [Substring] {
    let name = name.lowercased()
    return (name.dropping(byteSuffix: ".") ?? name[...])
      .byteSplit(separator: ".", omittingEmptySubsequences: false)
  }

  private static let mismatch = TransferError(
    .tls, "the certificate is not for this host", advice: "check the address")
}
