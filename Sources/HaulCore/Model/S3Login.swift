/// A key of an S3 store, and where it is used.
package struct S3Login: Sendable, Hashable {
  package let credentials: S3Credentials
  /// That the signature names.
  package let region: String

  package init(credentials: S3Credentials, region: String) {
    (self.credentials, self.region) = (credentials, region)
  }

  /// The field of the token of a temporary key.
  static let tokenField = "X-Amz-Security-Token"
}

extension ResourceURL {
  /// The address with an access key in place of its user information.
  func taking(key credentials: S3Credentials?) -> ResourceURL {
    taking(credentials.map { .init(user: $0.accessKeyID, password: $0.secretAccessKey) })
  }
}
