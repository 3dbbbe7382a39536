import ArgumentParser
import HaulCore

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

  @Option(
    name: .customLong("s3-addressing"),
    help: ArgumentHelp(
      """
      Where the bucket is: path = in the path; virtual = in the host's name; auto = as the store \
      needs (default: addressing_style of the profile, or auto).
      """, valueName: "STYLE"),
    completion: .list(S3Object.Addressing.allCases.map(\.rawValue)),
    transform: { try ArgumentValue.choice($0) })
  var addressing: S3Object.Addressing?

  var isEmpty: Bool { endpoint == nil && region == nil && addressing == nil }

  /// For an address that is no object.
  static let misused = UsageError(
    "--s3-endpoint, --s3-region and --s3-addressing are for s3://bucket/key")
}
