/// The domains of Amazon's partitions (`partitions.json` of botocore).
enum AmazonDomain {
  private static let standard = "amazonaws.com"
  /// By how the names of their regions begin.
  private static let partitions: [(region: String, domain: String)] = [
    ("cn-", "amazonaws.com.cn"), ("eusc-", "amazonaws.eu"), ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"), ("us-isof-", "csp.hci.ic.gov"), ("eu-isoe-", "cloud.adc-e.uk"),
  ]

  /// The domain of a region.
  static func of(region: String) -> String {
    partitions.first { region.hasBytePrefix($0.region) }?.domain ?? standard
  }

  /// The domain of a host of S3; nil for any other host, such as one of a customer.
  static func of(store host: String) -> String? {
    ([standard] + partitions.map { $0.domain }).first { domain in
      let name = host.dropping(byteSuffix: ".\(domain)") ?? ""
      return name.byteSplit(separator: ".").suffix(2).contains { label in
        label.isByteEqual("s3") || label.hasBytePrefix("s3-")
      }
    }
  }
}
