import HaulCore

/// The S3 store of each `s3://bucket/key` of a command. Its options, and the files with its key,
/// are read for the first one.
struct CommandStore {
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
  private(set) var settings: S3Settings?
  /// The last one: most lists have one bucket.
  private var last: S3Object?

  init(_ options: S3Options, _ sources: CommandSources) {
    (self.options, self.sources) = (options, sources)
  }

  /// - Parameter address: the object's key is taken as it is, without decoding.
  mutating func object(_ address: String) throws(UsageError) -> Object {
    let (bucket, key) = PutPlan.s3Parts(address)
    guard !key.isEmpty, !key.hasByteSuffix("/") else {
      throw UsageError("\(address): that is no object; name each one: s3://bucket/key")
    }
    return try object(bucket, key, at: address)
  }

  /// - Parameter address: for messages.
  mutating func object(
    _ bucket: String, _ key: String, at address: String
  ) throws(UsageError) -> Object {
    let settings = try open()
    let neighbour = last?.bucket == bucket ? last : nil
    let object = try UsageError.checked(
      neighbour?.sibling(key) ?? settings.object(bucket, key), at: address)
    last = object
    return Object(object, in: settings)
  }

  /// Whether something of the command is in a store.
  var isUsed: Bool { settings != nil }

  /// Reads its options.
  @discardableResult
  mutating func open() throws(UsageError) -> S3Settings {
    if let settings { return settings }
    let settings = try S3Settings(options, sources)
    self.settings = settings
    return settings
  }
}
