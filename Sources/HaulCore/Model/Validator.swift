/// What tells one version of a resource from another (RFC 9110, section 8.8).
package struct Validator: Hashable, Sendable, Codable {
  /// The entity tag as sent, with its quotes and `W/`.
  package var entityTag: String?
  /// `Last-Modified` as sent.
  package var lastModified: String?
  /// Whether `Last-Modified` was at least 60 s older than `Date` when it was received.
  package var lastModifiedIsStrong: Bool

  package init(entityTag: String?, lastModified: String?, lastModifiedIsStrong: Bool) {
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.lastModifiedIsStrong = lastModifiedIsStrong
  }
}
