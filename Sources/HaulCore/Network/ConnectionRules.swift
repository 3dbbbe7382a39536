/// A client certificate and its key.
public struct ClientCertificate: Hashable, Sendable {
  /// A PEM file; what follows the first certificate is the rest of its chain.
  public var certificateFile: String
  /// A PEM file, without a password.
  public var keyFile: String

  /// Both may be the same file.
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

/// A family of internet addresses.
public enum AddressFamily: Hashable, Sendable {
  /// `192.0.2.1`.
  case ipv4
  /// `2001:db8::1`.
  case ipv6

  /// The unspecified address of the family.
  package var anyAddress: String {
    switch self {
    case .ipv4: "0.0.0.0"
    case .ipv6: "::"
    }
  }
}
