import HaulCore

/// A protocol of uploads that the scheme of an address names.
struct UploadScheme {
  let method: UploadRequest.Method
  /// The address with the scheme of HTTP.
  let address: String

  /// Nil for an address of plain HTTP.
  init?(of address: String) {
    for method in UploadRequest.Method.allCases {
      for (prefix, http) in method.uploadProtocol.schemes {
        // A scheme is the same in upper case (RFC 3986, section 3.1).
        guard address.lowercased().hasBytePrefix(prefix) else { continue }
        let rest = address.utf8.dropFirst(prefix.utf8.count)
        (self.method, self.address) = (method, http + String(Substring(rest)))
        return
      }
    }
    return nil
  }

  /// The schemes of other programs, with what to write.
  private static let others: [(scheme: String, hint: String)] = [
    ("tus", "tus+https:// or tus+http://"), ("webdav", "dav+http://"),
    ("webdavs", "dav+https://"), ("s3+https", "s3://, with --s3-endpoint"),
  ]
  private static let foreign: Set = ["sftp", "scp", "ftp", "ftps", "rsync", "smb", "file"]

  /// - Parameter arguments: the files, then the address.
  /// - Throws: if the address is not the last one, or has the scheme of another program.
  static func check(_ arguments: [String]) throws(UsageError) {
    guard let first = arguments.first, let last = arguments.last else { return }
    guard last.hasBytes("://") || !first.hasBytes("://") else {
      throw UsageError("the address to upload to comes last: haul put FILE... URL")
    }
    let scheme = last.prefix(beforeAnyOf: ":").lowercased()
    if let other = others.first(where: { $0.scheme == scheme }) {
      throw UsageError("the scheme \(scheme) is not supported; write \(other.hint)")
    }
    guard last.hasBytes("://"), foreign.contains(scheme) else { return }
    throw UsageError(
      "the scheme \(scheme) is not supported; haul uploads to https:// (PUT), tus+https://, "
        + "dav+https:// and s3://")
  }
}
