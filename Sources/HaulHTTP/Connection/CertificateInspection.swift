import HaulCore
import NIOCore
import NIOSSL

/// Ends a connection whose certificate is not trusted, with the reason.
struct CertificateInspection: Error {
  /// Nil if the certificate itself is all right, and only its authority is not known.
  let fault: TransferError?

  init(of channel: any Channel, at wallSeconds: Double) throws {
    let tls = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    fault = tls.peerCertificate.flatMap { Self.fault(of: $0, at: wallSeconds) }
  }

  private static func fault(
    of certificate: NIOSSLCertificate, at wallSeconds: Double
  ) -> TransferError? {
    func date(_ seconds: Int) -> String { HTTPDate(secondsSince1970: Int64(seconds)).imfFixdate }
    let (start, end) = (certificate.notValidBefore, certificate.notValidAfter)
    let clock = "is this machine's clock right? It says \(date(Int(wallSeconds)))"
    if Double(end) < wallSeconds {
      return TransferError(
        .tls, "the server's certificate expired on \(date(end))", advice: clock)
    }
    if Double(start) > wallSeconds {
      return TransferError(
        .tls, "the server's certificate is not valid before \(date(start))", advice: clock)
    }
    // A certificate without a reader of its bytes is an unknown one.
    guard let bytes = try? certificate.toDERBytes(), CertificateNames(bytes)?.areEqual == true
    else { return nil }
    return TransferError(
      .tls, "the server's certificate is self-signed", advice: "if it is the right one, give it"
    ).remedied(by: .certificateAuthority)
  }
}

/// Issuer and subject of a certificate (RFC 5280, section 4.1), as their bytes.
struct CertificateNames {
  private let issuer: ArraySlice<UInt8>
  private let subject: ArraySlice<UInt8>

  var areEqual: Bool { issuer.elementsEqual(subject) }

  init?(_ der: [UInt8]) {
    var rest = der[...]
    guard var certificate = Self.take(&rest)?.content,
      var fields = Self.take(&certificate)?.content,
      let first = Self.take(&fields)
    else { return nil }
    // The version is left out of the oldest certificates.
    if first.tag == 0xA0, Self.take(&fields) == nil { return nil }
    guard Self.take(&fields) != nil, let issuer = Self.take(&fields)?.content,
      Self.take(&fields) != nil, let subject = Self.take(&fields)?.content
    else { return nil }
    (self.issuer, self.subject) = (issuer, subject)
  }

  /// Takes one value; nil if its length can't be read.
  private static func take(
    _ bytes: inout ArraySlice<UInt8>
  ) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
    guard let tag = bytes.popFirst(), let short = bytes.popFirst() else { return nil }
    var length = Int(short)
    if short >= 0x80 {
      let count = Int(short & 0x7F)
      guard (1...4).contains(count), bytes.count >= count else { return nil }
      length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      bytes = bytes.dropFirst(count)
    }
    guard bytes.count >= length else { return nil }
    defer { bytes = bytes.dropFirst(length) }
    return (tag, bytes.prefix(length))
  }
}
