import HaulCore
import NIOCore
import NIOSSL
import SwiftASN1
import X509

/// Whether the certificate of a connection is for the name that was asked for (RFC 9525, section 6).
///
/// The TLS library also takes a certificate for the address of the other end. Who steers the lookup of names and
/// has such a certificate would pass for any host; through a tunnel that is the proxy.
enum CertificateName {
  /// - Throws: `tls` when it is for another name.
  static func check(_ host: String, on channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let tls = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
      guard let certificate = tls.peerCertificate else { throw mismatch }
      return try certificate.toDERBytes()
    }.flatMap { (bytes: [UInt8]) in
      channel.eventLoop.makeFutureWithTask {
        guard await names(host, in: bytes) else { throw mismatch }
      }
    }
  }

  /// The chain was verified in the handshake: here the leaf stands alone.
  static func names(_ host: String, in bytes: [UInt8]) async -> Bool {
    guard let leaf = try? Certificate(derEncoded: bytes) else { return false }
    var verifier = Verifier(rootCertificates: CertificateStore([leaf])) {
      NameOnly(host, of: leaf)
    }
    let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore())
    if case .validCertificate = result { return true }
    return false
  }

  private static let mismatch = TransferError(
    .tls, "the certificate is not for this host; check the address")
}

/// The identity of the server and nothing else; critical extensions were minded in the handshake.
private struct NameOnly: VerifierPolicy {
  private var identity: ServerIdentityPolicy
  let verifyingCriticalExtensions: [ASN1ObjectIdentifier]

  init(_ host: String, of leaf: Certificate) {
    identity = ServerIdentityPolicy(serverHostname: host, serverIP: nil)
    verifyingCriticalExtensions = leaf.extensions.map(\.oid)
  }

  mutating func chainMeetsPolicyRequirements(
    chain: UnverifiedCertificateChain
  ) -> PolicyEvaluationResult {
    identity.chainMeetsPolicyRequirements(chain: chain)
  }
}
