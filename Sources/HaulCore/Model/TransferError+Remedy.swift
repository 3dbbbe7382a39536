extension TransferError {
  /// A setting that avoids the error. The message describes it for users of the library; the
  /// command line adds its options.
  package enum Remedy: String, Hashable, Codable, Sendable {
    case credentials, otherCredentials, password, token, proxyCredentials
    case certificateAuthority, clientCertificate
    case existingFile, overwriting, newAddress, directory, streaming, relaxedDurability
    case checksum, maximumSize, noDecoding, startingOver
    case olderHTTP, newerHTTP, addressFamily, localAddress, longerTimeout, longerWait
    case region, endpoint, sameResource
  }

  package var remedy: Remedy? { parts.remedy }

  /// The same error with a remedy.
  package func remedied(by remedy: Remedy) -> TransferError { changing { $0.remedy = remedy } }
}
