import HaulCore
import NIOCore
import NIOSSL

/// The TLS configurations of a transport.
struct TLSSettings: Sendable {
  /// What a request allows.
  enum Choice: Hashable, Sendable {
    /// The server's certificate is checked, and gets ours if it asks.
    case checked
    /// The same without the check.
    case unchecked
    /// For an origin that a server chose, or a client over TCP: the check, and no certificate of
    /// ours, which would tell a stranger who the user is, and give a client what only its owner may
    /// have.
    case anonymous
    /// Neither.
    case uncheckedAnonymous
    /// No check and no certificate of ours, for a connection that only reads the server's.
    case inspected

    init(isChecked: Bool, isAnonymous: Bool) {
      switch (isChecked, isAnonymous) {
      case (true, false): self = .checked
      case (true, true): self = .anonymous
      case (false, false): self = .unchecked
      case (false, true): self = .uncheckedAnonymous
      }
    }
  }

  private let checked: TLSConfiguration
  private let unchecked: TLSConfiguration
  private let anonymous: TLSConfiguration
  private let inspected: TLSConfiguration

  /// - Throws: `tls` when a file cannot be read or has the wrong content.
  init(_ settings: HTTPTransport.Settings) throws(TransferError) {
    var tls = TLSConfiguration.makeClientConfiguration()
    // A server that blocks in a write never answers close_notify; not waiting for it loses nothing.
    tls.shutdownTimeout = .milliseconds(100)
    tls.minimumTLSVersion = settings.minimumTLS == .tls13 ? .tlsv13 : .tlsv12
    if let path = settings.certificateAuthorities {
      tls.trustRoots = .certificates(try Self.certificates(in: path))
    }
    anonymous = tls
    tls.certificateVerification = .none
    inspected = tls
    tls.certificateVerification = anonymous.certificateVerification
    if let client = settings.clientCertificate {
      tls.certificateChain = try Self.certificates(in: client.certificateFile)
        .map { .certificate($0) }
      tls.privateKey = .privateKey(try Self.key(in: client.keyFile))
    }
    checked = tls
    tls.certificateVerification = .none
    unchecked = tls
  }

  subscript(choice: Choice) -> TLSConfiguration {
    switch choice {
    case .checked: checked
    case .unchecked: unchecked
    case .anonymous: anonymous
    case .uncheckedAnonymous, .inspected: inspected
    }
  }

  private static func certificates(in path: String) throws(TransferError) -> [NIOSSLCertificate] {
    let bytes = try Self.bytes(of: path, "certificate")
    do {
      let found = try NIOSSLCertificate.fromPEMBytes(bytes)
      if !found.isEmpty { return found }
    } catch {
      throw TransferError(.tls, "the certificate file \(path) cannot be read")
    }
    throw TransferError(.tls, "the certificate file \(path) contains no certificate")
  }

  /// The library would wait for ever for a pipe of another user.
  private static func bytes(of path: String, _ what: String) throws(TransferError) -> [UInt8] {
    let found: [UInt8]?
    do throws(TransferError) {
      found = try NamedFile.bytes(of: path, atMost: 64 << 20)
    } catch {
      throw error.code == .badName
        ? error : TransferError(.tls, "the \(what) file \(path): \(error.message)")
    }
    if let found { return found }
    throw TransferError(.tls, "the \(what) file \(path) cannot be read")
  }

  private static func key(in path: String) throws(TransferError) -> NIOSSLPrivateKey {
    let bytes = try Self.bytes(of: path, "key")
    do {
      // Without this callback the library would prompt for a password on the terminal.
      return try NIOSSLPrivateKey(bytes: bytes, format: .pem) { (_: ([UInt8]) -> Void) in
        throw TransferError(.tls, "the key has a password")
      }
    } catch {
      throw TransferError(
        .tls, "the key file \(path) cannot be read as PEM",
        advice: "a key with a password is not supported")
    }
  }
}
