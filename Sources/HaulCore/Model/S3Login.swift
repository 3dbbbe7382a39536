/// A key of an S3 store, or where it comes from, and the region that signatures name.
package struct S3Login: Sendable, Hashable {
  package enum Key: Sendable, Hashable {
    case known(S3Credentials)
    /// A role's keys: the sender of a request asks for them.
    case of(S3KeySource)
  }

  package let key: Key
  package let region: String

  package init(_ key: Key, region: String) { (self.key, self.region) = (key, region) }

  /// The field of the token of a temporary key.
  static let tokenField = "X-Amz-Security-Token"
}

extension ResourceURL {
  /// The address with an access key in place of its user information.
  func taking(key credentials: S3Credentials?) -> ResourceURL {
    taking(credentials.map { .init(user: $0.accessKeyID, password: $0.secretAccessKey) })
  }
}
