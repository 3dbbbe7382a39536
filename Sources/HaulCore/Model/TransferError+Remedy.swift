extension TransferError {
  /// What a user may set to get past it. The message says it in words that hold for the library;
  /// the command adds its options.
  package enum Remedy: String, Hashable, Codable, Sendable {
    case credentials, password, proxyCredentials
    case certificateAuthority, clientCertificate
    case existingFile, overwriting, newAddress, streaming
    case maximumSize, noDecoding
    case olderHTTP, addressFamily, localAddress
  }

  package var remedy: Remedy? { parts.remedy }

  /// The same, with what a user may set.
  package func remedied(by remedy: Remedy) -> TransferError {
    var parts = parts
    parts.remedy = remedy
    return TransferError(parts)
  }
}
