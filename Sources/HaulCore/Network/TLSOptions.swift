/// A client certificate and its key.
public struct ClientCertificate: Hashable, Sendable {
  /// A PEM file. After the first certificate come the others of its chain.
  public var certificateFile: String
  /// A PEM file without a password.
  public var keyFile: String

  /// A client certificate; both files may be the same.
  public init(certificateFile: String, keyFile: String) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
  }
}

/// A version of TLS that is considered safe.
public enum TLSVersion: String, CaseIterable, Sendable {
  /// RFC 5246.
  case tls12 = "1.2"
  /// RFC 8446.
  case tls13 = "1.3"
}
