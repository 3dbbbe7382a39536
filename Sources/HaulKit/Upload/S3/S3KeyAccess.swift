package import HaulCore

/// What a manager reads of its process to ask for the keys of a role.
package struct S3KeyAccess: Sendable {
  /// Has the variables of a container's service.
  package var environment: [String: String]
  /// What a profile of the AWS tools means at the moment.
  package var profile:
    @Sendable (
      _ name: String, _ configuration: String?, _ credentials: String?
    ) throws(TransferError) -> S3KeyQuestion
  /// The text of a file with a token; nil if there is none.
  package var token: @Sendable (_ path: String) throws(TransferError) -> String?

  package init(
    environment: [String: String],
    profile:
      @escaping @Sendable (
        _ name: String, _ configuration: String?, _ credentials: String?
      ) throws(TransferError) -> S3KeyQuestion,
    token: @escaping @Sendable (_ path: String) throws(TransferError) -> String?
  ) {
    (self.environment, self.profile, self.token) = (environment, profile, token)
  }
}
