import Crypto
import FoundationEssentials
package import HaulCore
package import HaulKit

/// How responses reach the cache: through which proxy, from which address, and trusting whom. What
/// came over one route is not used for another.
package struct ResponseRoute: Sendable {
  private let proxies: ProxyRules
  private let addresses: [String: String]
  /// What TLS trusts and shows; empty for the defaults.
  private let trust: String

  /// Reads the files of certificates, whose contents count.
  package init(_ transfers: TransferManager.Configuration) {
    (proxies, addresses) = (transfers.proxies, transfers.addresses)
    var parts: [String] = []
    if let path = transfers.certificateAuthorities { parts.append("ca=\(Self.digest(path))") }
    if let path = transfers.clientCertificate?.certificateFile {
      parts.append("cert=\(Self.digest(path))")
    }
    if transfers.minimumTLS != .tls12 { parts.append("tls=\(transfers.minimumTLS.rawValue)") }
    trust = parts.joined(separator: " ")
  }

  /// A text that is equal for equal routes; empty for a direct one with the defaults. It holds no
  /// password.
  package func text(to origin: ResourceURL.Origin) -> String {
    var parts: [String] = []
    do throws(TransferError) {
      if let proxy = try proxies.proxy(for: origin) {
        parts.append("\(proxy.kind)://\(proxy.credentials?.user ?? "")@\(proxy)")
      }
    } catch {
      // Nothing is fetched, and no copy that came without a proxy is used.
      parts.append("unreadable")
    }
    if let address = addresses[origin.host] { parts.append("address=\(address)") }
    if origin.scheme == "https", !trust.isEmpty { parts.append(trust) }
    return parts.joined(separator: " ")
  }

  /// The digest of the contents; that of the path if the file cannot be read: then no connection is
  /// made with it.
  private static func digest(_ path: String) -> String {
    let bytes = FileManager.default.contents(atPath: path) ?? Data(path.utf8)
    return SHA256.hash(data: bytes).map { String($0, radix: 16) }.joined(separator: "-")
  }
}
