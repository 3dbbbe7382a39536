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

extension Validator {
  /// What two validators tell about the two versions they came from.
  package enum Comparison: Hashable, Sendable {
    /// Byte for byte the same: their ranges may be combined (RFC 9110, section 15.3.7.3).
    case same
    case different
    /// Nothing is proved either way.
    case unknown
  }

  /// Whether equality proves equal bytes: a strong entity tag, or a strong `Last-Modified`.
  package var isStrong: Bool { strongDate != nil || strongTag != nil }

  /// What to send as `If-Range` (RFC 9110, section 13.1.5): the strong tag, else the strong date as
  /// it was sent.
  ///
  /// Nil beside a weak tag even when the date is strong, for the section forbids a date to a client
  /// that has any tag. `isStrong` is then still true: ask for the plain range and compare the
  /// validators of the answer.
  package var ifRange: String? {
    guard let tag else { return strongDate }
    return tag.isWeak ? nil : entityTag
  }

  /// Compares the version that we have with one that was seen later.
  ///
  /// - Tags that differ mean different, weak or not: a server changes even a weak tag only when the
  ///   content changed.
  /// - Equal strong tags mean the same, whatever the dates say: nodes behind one name often differ
  ///   in the date only.
  /// - An equal weak tag promises equal meaning, not equal bytes, so the date decides: another date
  ///   is another version, the same strong date the same one.
  /// - With a tag on one side only (some nodes leave it out), or on none, the date decides too.
  /// - An equal date proves something only if ours was strong: the bytes we have were then read
  ///   after the second of the change was over. How old the date is for the newer response adds
  ///   nothing to that.
  package func comparison(with newer: Validator) -> Comparison {
    if let tag, let newerTag = newer.tag {
      guard tag.weaklyMatches(newerTag) else { return .different }
      if tag.stronglyMatches(newerTag) { return .same }
    }
    guard let lastModified, let newerDate = newer.lastModified else { return .unknown }
    guard lastModified.utf8.elementsEqual(newerDate.utf8) else { return .different }
    return lastModifiedIsStrong ? .same : .unknown
  }

  private var tag: EntityTag? { entityTag.flatMap { EntityTag($0) } }
  private var strongTag: EntityTag? { tag.flatMap { $0.isWeak ? nil : $0 } }
  private var strongDate: String? { lastModifiedIsStrong ? lastModified : nil }
}
