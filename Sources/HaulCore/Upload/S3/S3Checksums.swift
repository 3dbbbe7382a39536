/// The CRC32C values that an S3 store checks, beside the MD5 of each request.
package enum S3Checksums: String, Sendable, Hashable, Codable {
  /// Each part has one. An older store makes its own checksum of these.
  case ofParts = "parts"
  /// The whole object has one too, whatever its parts are.
  case ofWhole = "whole"

  /// What the store has agreed to with the answer to the creation of an upload; nil for none: most
  /// stores ignore fields that they do not know.
  init?(_ answer: HeaderFields) {
    let isWhole = answer[S3Messages.checksumType]?.uppercased() == S3Messages.wholeObject
    switch answer[S3Messages.checksumAlgorithm]?.uppercased() {
    case S3Messages.algorithm?: self = isWhole ? .ofWhole : .ofParts
    default: return nil
    }
  }
}

extension UploadRequest {
  /// Whether the caller's fields say something about checksums: an object has one kind of them.
  var hasOwnChecksums: Bool {
    headers.contains { field in
      let name = field.name.lowercased()
      return name.hasBytePrefix("x-amz-checksum-") || name == "x-amz-sdk-checksum-algorithm"
    }
  }
}
