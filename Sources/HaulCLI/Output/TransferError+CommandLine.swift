import HaulCore

/// The options of the command that help, for errors of the library.
extension TransferError {
  /// The message, with the options that help.
  var commandLineText: String {
    guard let remedy else { return message }
    return message + remedy.options
  }
}

extension TransferError.Remedy {
  fileprivate var options: String {
    switch self {
    case .credentials:
      " (--user, or --netrc with an entry for the host), or a token (--bearer-file)"
    case .token: " (--bearer-file)"
    case .otherCredentials: " (--bearer-file, --user, --netrc)"
    case .password: " (--user)"
    case .proxyCredentials: " (--proxy)"
    case .certificateAuthority: " (--cacert)"
    case .clientCertificate: " (--cert)"
    case .existingFile: " (--if-exists, -o)"
    case .overwriting: " (--if-exists overwrite)"
    case .newAddress: ", and give it with -o and the name of this file"
    case .directory: " (mkdir -p), or name it with -d"
    case .streaming: " (-o -)"
    case .relaxedDurability: " (--durability relaxed)"
    case .checksum: " (--checksum)"
    case .maximumSize: " (--max-filesize)"
    case .startingOver: " (--start-over)"
    case .noDecoding: " (leave out --decode)"
    case .olderHTTP: " (--http1.1)"
    case .newerHTTP: " (--http2)"
    case .region: " (--s3-region)"
    case .endpoint: " (--s3-endpoint)"
    case .sameResource: " (--same-resource)"
    case .longerTimeout: " (--idle-timeout)"
    case .longerWait: " (--retry-max-time)"
    case .addressFamily: " (-4, -6, --interface)"
    case .localAddress: " (--interface)"
    }
  }
}
