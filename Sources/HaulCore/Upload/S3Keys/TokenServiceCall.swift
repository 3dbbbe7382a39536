/// A call of the token service (STS), which gives keys for a role.
package struct TokenServiceCall: Sendable {
  package let url: ResourceURL
  /// A form.
  package let body: [UInt8]

  package static let mediaType = "application/x-www-form-urlencoded"

  /// - Parameters:
  ///   - source: says where the service is.
  ///   - token: of a web identity; nil if the call is signed.
  package init(
    _ role: S3Role, at source: S3KeySource, token: String?
  ) throws(TransferError) {
    let items = [
      ("Action", token == nil ? "AssumeRole" : "AssumeRoleWithWebIdentity"),
      ("Version", "2011-06-15"), ("RoleArn", role.name), ("RoleSessionName", role.session),
      ("WebIdentityToken", token), ("ExternalId", role.externalID),
      ("DurationSeconds", role.seconds.map(String.init)),
    ]
    let fields = items.compactMap { name, value in
      value.map { "\(name)=\(PercentCoding.component($0))" }
    }
    body = Array(fields.joined(separator: "&").utf8)
    if let address = source.tokenService {
      url = address
    } else {
      url = try ResourceURL(
        "https://sts.\(source.region).\(AmazonDomain.of(region: source.region))/")
    }
  }
}
