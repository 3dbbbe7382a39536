import HaulCore
import NIOCore
import NIOSSL

/// Whether the certificate of a connection is for the requested name.
///
/// The TLS library compares names, but also accepts a certificate for the peer's address. With such
/// a certificate, an attacker that controls name lookup, or a proxy with a tunnel, could pose as
/// any host. So a certificate that lists addresses must also match by name.
package enum HostnameVerification {
  /// - Throws: `tls` when the certificate is for another name.
  static func check(_ host: String, on channel: any Channel) throws {
    let tls = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    guard let certificate = tls.peerCertificate else { throw mismatch }
    let names = certificate._subjectAlternativeNames()
    guard names.contains(where: { $0.nameType == .ipAddress }) else { return }
    let fits = names.contains {
      $0.nameType == .dnsName && matches(String(decoding: $0.contents, as: UTF8.self), host)
    }
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
    .tls, "the certificate is not for this host; check the address")
}
