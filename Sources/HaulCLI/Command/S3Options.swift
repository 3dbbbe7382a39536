import ArgumentParser

/// Where an S3 store is. The access key is never an option: others could read it.
struct S3Options: ParsableArguments {
  @Option(
    name: .customLong("s3-endpoint"),
    help: ArgumentHelp(
      "The address of the store (default: AWS_ENDPOINT_URL_S3, or Amazon's).", valueName: "URL"))
  var endpoint: String?

  @Option(
    name: .customLong("s3-region"),
    help: ArgumentHelp(
      "The region of the bucket (default: AWS_REGION, or us-east-1).", valueName: "NAME"))
  var region: String?

  var isEmpty: Bool { endpoint == nil && region == nil }

  /// For an address that is no object.
  static let misused = UsageError("--s3-endpoint and --s3-region are for s3://bucket/key")
}
