import HaulCore

/// The S3 store of `s3://bucket/key` as a source. Its options, and the files with its key, are read
/// for the first such address.
struct SourceStore {
  private let options: S3Options
  private let sources: CommandSources
  private var settings: S3Settings?

  init(_ options: S3Options, _ sources: CommandSources) {
    (self.options, self.sources) = (options, sources)
  }

  /// The object, and the store's settings, which have its key.
  /// - Parameter address: the object's key is taken as it is, without decoding.
  mutating func object(_ address: String) throws(UsageError) -> (S3Object, S3Settings) {
    let (bucket, key) = PutPlan.s3Parts(address)
    guard !key.isEmpty, !key.hasByteSuffix("/") else {
      throw UsageError("\(address): that is no object; name each one: s3://bucket/key")
    }
    if settings == nil { settings = try S3Settings(options, sources) }
    guard let settings else { throw S3Options.misused }
    do throws(TransferError) {
      let object = try S3Object(
        bucket: bucket, key: key, region: settings.region, endpoint: settings.endpoint,
        addressing: settings.addressing)
      return (object, settings)
    } catch {
      throw UsageError("\(address): \(error.message)")
    }
  }
}
