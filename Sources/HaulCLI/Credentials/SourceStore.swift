import HaulCore

/// The S3 store of `s3://bucket/key` as a source. Its options, and the files with its key, are read
/// for the first such address.
struct SourceStore {
  /// An object, and the settings of its store, which have its key. A class: lists are long, and few
  /// of their lines are objects.
  final class Object: Sendable {
    let object: S3Object
    let store: S3Settings

    fileprivate init(_ object: S3Object, in store: S3Settings) {
      (self.object, self.store) = (object, store)
    }
  }

  private let options: S3Options
  private let sources: CommandSources
  private var settings: S3Settings?

  init(_ options: S3Options, _ sources: CommandSources) {
    (self.options, self.sources) = (options, sources)
  }

  /// - Parameter address: the object's key is taken as it is, without decoding.
  mutating func object(_ address: String) throws(UsageError) -> Object {
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
      return Object(object, in: settings)
    } catch {
      throw UsageError("\(address): \(error.message)")
    }
  }
}
