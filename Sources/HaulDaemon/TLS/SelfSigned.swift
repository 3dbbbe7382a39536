import Crypto
import FoundationEssentials
import HaulControl
import HaulCore
import SwiftASN1
import X509

/// A certificate that the daemon makes for itself. Browsers ask once whether to trust it: compare
/// its fingerprint then.
enum SelfSigned {
  /// Apple's systems refuse a longer time.
  private static let lifetime: Double = 800 * 86_400
  private static let day: Double = 86_400

  /// Keeps the one in the file while it is valid and has all names; else makes another one.
  /// - Throws: as `StateFile`; `internal`.
  static func prepare(at path: String, _ access: RemoteAccess) throws(TransferError) {
    let file = StateFile(path: path)
    let names = names(access)
    if let bytes = try file.read(isSecret: true), isUsable(bytes, for: names) { return }
    guard let pem = try? make(for: names) else {
      throw TransferError(.internal, "a certificate cannot be made")
    }
    try file.write(pem.utf8)
  }

  /// Names and addresses by which it is reached.
  private static func names(_ access: RemoteAccess) -> Set<String> {
    var names: Set = ["localhost", "127.0.0.1", "::1"]
    names.formUnion(access.hosts.map(\.host))
    for listener in access.listeners where !listener.isAny {
      if case .tcp(let host, _) = listener { names.insert(host) }
    }
    return names
  }

  private static func isUsable(_ bytes: [UInt8], for names: Set<String>) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let start = text.firstByteRange(of: "-----BEGIN CERTIFICATE-----")?.lowerBound,
      let certificate = try? Certificate(pemEncoded: String(text[start...])),
      let alternatives = try? certificate.extensions.subjectAlternativeNames
    else { return false }
    let now = Date.now
    // A new one a month before the end.
    guard certificate.notValidBefore <= now,
      certificate.notValidAfter > now.addingTimeInterval(30 * day)
    else { return false }
    return names.allSatisfy { alternatives.contains(name($0)) }
  }

  private static func name(_ text: String) -> GeneralName {
    guard let address = IPAddress(text) else { return .dnsName(text) }
    return .ipAddress(ASN1OctetString(contentBytes: address.bytes[...]))
  }

  private static func make(for names: Set<String>) throws -> String {
    let key = P256.Signing.PrivateKey()
    let now = Date.now
    let subject = try DistinguishedName { CommonName("Haul") }
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(),
      publicKey: Certificate.PublicKey(key.publicKey), notValidBefore: now.addingTimeInterval(-day),
      notValidAfter: now.addingTimeInterval(lifetime), issuer: subject, subject: subject,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        // A key usage without signing certificates would keep OpenSSL from trusting it as its own.
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(names.sorted().map(name))
      },
      issuerPrivateKey: Certificate.PrivateKey(key))
    return "\(key.pemRepresentation)\n\(try certificate.serializeAsPEM().pemString)\n"
  }
}
