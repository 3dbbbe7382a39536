import HaulCore

/// Where an S3 store is, and the access key or what gives it: from the options, the environment,
/// the files of the AWS tools, and the machine, in this order.
struct S3Settings: Sendable {
  /// Nil if the key comes from `keySource`.
  let credentials: S3Credentials?
  let keySource: S3KeySource?
  let region: String
  /// Nil for Amazon's.
  let endpoint: ResourceURL?
  let addressing: S3Object.Addressing
  /// A file of certificate authorities; nil for the system's.
  let certificateAuthorities: String?

  init(_ options: S3Options, _ sources: CommandSources) throws(UsageError) {
    let files = try AWSFiles(sources)
    region =
      options.region ?? files.environment("AWS_REGION")
      ?? files.environment("AWS_DEFAULT_REGION") ?? files.profile["region"] ?? "us-east-1"
    (credentials, keySource) = try files.keys(region: region)
    certificateAuthorities = files.environment("AWS_CA_BUNDLE") ?? files.profile["ca_bundle"]
    if let style = options.addressing {
      addressing = style
    } else {
      addressing = try files.addressing()
    }
    let given = options.endpoint.map { ("--s3-endpoint", $0) }
    guard let (name, address) = given ?? files.endpoint(of: "s3") else {
      endpoint = nil
      return
    }
    endpoint = try UsageError.checked(AddressArgument.url(address), at: name)
  }

  func object(_ bucket: String, _ key: String) throws(TransferError) -> S3Object {
    try S3Object(
      bucket: bucket, key: key, region: region, endpoint: endpoint, addressing: addressing)
  }
}
