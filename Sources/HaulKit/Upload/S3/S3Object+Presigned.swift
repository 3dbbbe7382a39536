public import HaulCore

extension S3Object {
  /// An address that allows one method on this object to anyone who has it: `GET` to download it,
  /// `PUT` to upload it. It is a secret.
  /// - Parameters:
  ///   - method: that the address allows.
  ///   - credentials: the access key that allows it.
  ///   - validity: how long it is valid, 1 s to 7 days.
  ///   - time: when that begins, in seconds since 1970.
  /// - Throws: `bad-url` for another validity.
  public func presignedURL(
    _ method: String = "GET", credentials: S3Credentials,
    validity: Duration = .seconds(3600), at time: Double
  ) throws(TransferError) -> ResourceURL {
    let seconds = validity.components.seconds
    guard (1...Self.longestValidity).contains(seconds) else {
      throw TransferError(.badURL, "a presigned address is valid for 1 s to 7 days")
    }
    let signer = RequestSigner(credentials, region: region, wallSeconds: time)
    return url.taking(query: signer.presignedQuery(method, url, seconds: seconds))
  }

  private static let longestValidity: Int64 = 7 * 86_400
}
