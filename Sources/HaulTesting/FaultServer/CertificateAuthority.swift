import Crypto
import FoundationEssentials
import NIOSSL
import SwiftASN1
import X509

/// A new certificate authority, for servers that tests may trust.
package struct CertificateAuthority: Sendable {
  private let key: Certificate.PrivateKey
  private let certificate: Certificate
  /// The certificate for `--cacert` and trust stores.
  package let pem: String

  package init() throws {
    key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let now = Date.now
    let name = try DistinguishedName { CommonName("Haul test authority") }
    certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
      notValidBefore: now.addingTimeInterval(-Self.day),
      notValidAfter: now.addingTimeInterval(30 * Self.day),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
        Critical(KeyUsage(keyCertSign: true, cRLSign: true))
      },
      issuerPrivateKey: key)
    pem = try certificate.serializeAsPEM().pemString
  }

  private static let day: Double = 86_400

  /// The configuration of a server of that kind; nil without TLS.
  func configuration(
    _ kind: FaultServerTLS, http2: Bool = false, clients: CertificateAuthority? = nil
  ) throws -> TLSConfiguration? {
    guard kind != .none else { return nil }
    let leafKey = P256.Signing.PrivateKey()
    let leaf = try leaf(kind, key: Certificate.PrivateKey(leafKey))
    var serializer = DER.Serializer()
    try leaf.serialize(into: &serializer)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: [
        .certificate(try NIOSSLCertificate(bytes: serializer.serializedBytes, format: .der))
      ],
      privateKey: .privateKey(
        try NIOSSLPrivateKey(bytes: Array(leafKey.derRepresentation), format: .der)))
    configuration.applicationProtocols = http2 ? ["h2", "http/1.1"] : ["http/1.1"]
    if let clients {
      // Names are not checked, because a client has none.
      configuration.certificateVerification = .noHostnameVerification
      configuration.trustRoots = .certificates(
        try NIOSSLCertificate.fromPEMBytes(Array(clients.pem.utf8)))
    }
    configuration.minimumTLSVersion = .tlsv12
    if [.tls12Only, .otherCipher].contains(kind) { configuration.maximumTLSVersion = .tlsv12 }
    if kind == .otherCipher { configuration.cipherSuites = "ECDHE-RSA-AES128-GCM-SHA256" }
    if kind == .tls11Only {
      configuration.minimumTLSVersion = .tlsv11
      configuration.maximumTLSVersion = .tlsv11
      configuration.cipherSuites = "ALL"
    }
    return configuration
  }

  /// A certificate for a client and its key, both as PEM.
  package func client() throws -> (certificate: String, key: String) {
    let clientKey = P256.Signing.PrivateKey()
    let now = Date.now
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(),
      publicKey: Certificate.PrivateKey(clientKey).publicKey,
      notValidBefore: now.addingTimeInterval(-Self.day),
      notValidAfter: now.addingTimeInterval(7 * Self.day),
      issuer: certificate.subject,
      subject: try DistinguishedName { CommonName("Haul test client") },
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.clientAuth])
      },
      issuerPrivateKey: key)
    return (try certificate.serializeAsPEM().pemString, clientKey.pemRepresentation)
  }

  private func leaf(_ kind: FaultServerTLS, key leafKey: Certificate.PrivateKey) throws
    -> Certificate
  {
    let now = Date.now
    let subject = try DistinguishedName { CommonName("Haul test server") }
    let isOwnIssuer = kind == .selfSigned
    let address = GeneralName.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))
    let names: [GeneralName] =
      switch kind {
      case .wrongHost: [.dnsName("elsewhere.invalid")]
      case .bareWildcard: [.dnsName("*"), .dnsName("*.test")]
      case .addressOnly: [.dnsName("elsewhere.invalid"), address]
      default: [.dnsName("localhost"), .dnsName("*.haul.test"), address]
      }
    return try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: leafKey.publicKey,
      notValidBefore: now.addingTimeInterval((kind == .notYetValid ? 2 : -2) * Self.day),
      notValidAfter: now.addingTimeInterval(kind == .expired ? -Self.day : 7 * Self.day),
      issuer: isOwnIssuer ? subject : certificate.subject, subject: subject,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(names)
      },
      issuerPrivateKey: isOwnIssuer ? leafKey : key)
  }
}

/// The certificate that a fault server sends.
package enum FaultServerTLS: String, CaseIterable, Codable, Sendable {
  case none
  /// Signed by the authority, for localhost, *.haul.test and 127.0.0.1.
  case good
  case expired, notYetValid
  /// Not signed by the authority.
  case selfSigned
  /// Signed by the authority, for another name.
  case wrongHost
  /// Signed by the authority, for 127.0.0.1 and another name, but not for localhost.
  case addressOnly
  /// Signed by the authority, for * and *.test, which are no names of a host.
  case bareWildcard
  /// Good, but with TLS 1.1 at most.
  case tls11Only
  /// Good, but with TLS 1.2 at most.
  case tls12Only
  /// The same, and with a cipher only that its certificate does not fit.
  case otherCipher
}
