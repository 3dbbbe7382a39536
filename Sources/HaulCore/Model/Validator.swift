/// Identifies a version of a resource (RFC 9110, section 8.8).
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
  /// That of a resource that identifies no version.
  package static let none = Validator(
    entityTag: nil, lastModified: nil, lastModifiedIsStrong: false)

  /// The result of comparing two validators.
  package enum Comparison: Hashable, Sendable {
    /// Byte for byte equal: their ranges may be combined (RFC 9110, section 15.3.7.3).
    case same
    case different
    /// Nothing is proved.
    case unknown
  }

  /// Whether equality proves equal bytes: a strong entity tag, or a strong `Last-Modified`.
  package var isStrong: Bool { strongDate != nil || strongTag != nil }

  /// The value of `If-Range` (RFC 9110, section 13.1.5): the strong tag, otherwise the strong date
  /// as received.
  ///
  /// Nil with a weak tag even if the date is strong, because the section forbids a date beside a
  /// tag. `isStrong` is still true then: request the plain range and compare the validators of the
  /// answer.
  package var ifRange: String? {
    guard let tag else { return strongDate }
    return tag.isWeak ? nil : entityTag
  }

  /// Compares the version of our bytes with one that was seen later.
  ///
  /// - Different tags mean different versions, even if weak: a server changes a weak tag only when
  ///   the content changes.
  /// - Other dates mean different versions, also beside equal strong tags: some servers never
  ///   change the tag. Where nodes of a server differ in the date only, one connection suffices.
  /// - Equal strong tags mean the same version, if a date is missing or both are equal.
  /// - An equal weak tag promises equal meaning, not equal bytes, so the date decides: another date
  ///   means another version, the same strong date the same one.
  /// - With one tag or none (some nodes omit it), the date decides too.
  /// - An equal date is a proof only if ours was strong: then our bytes were read after the second
  ///   of the change. The age of the date in the newer response is no further proof.
  package func comparison(with newer: Validator) -> Comparison {
    if let tag, let newerTag = newer.tag {
      guard tag.weaklyMatches(newerTag) else { return .different }
      if tag.stronglyMatches(newerTag) { return datesDiffer(newer) ? .different : .same }
    }
    guard lastModified != nil, newer.lastModified != nil else { return .unknown }
    guard !datesDiffer(newer) else { return .different }
    return lastModifiedIsStrong ? .same : .unknown
  }

  /// Whether both have a date, and another one.
  private func datesDiffer(_ newer: Validator) -> Bool {
    guard let lastModified, let newerDate = newer.lastModified else { return false }
    return !lastModified.isByteEqual(newerDate)
  }

  /// Whether it says no more than when the file was changed and how long it is, as the tags of
  /// nginx, Apache and Caddy do, and a date alone. Another file with the same date and length (a
  /// copy that keeps its date, a build with fixed dates) then has an equal validator.
  package func isOfMetadata(length: Int64?) -> Bool {
    guard let tag else { return lastModified != nil }
    guard let length, !tag.isWeak else { return false }
    let text = Substring(String(decoding: tag.opaque, as: UTF8.self))
    let parts = text.byteSplit(separator: "-", omittingEmptySubsequences: false)
    let hex = String(length, radix: 16)
    // nginx: date-length; Apache: length-date, earlier inode-length-date.
    if (2...3).contains(parts.count), parts.allSatisfy({ UInt64($0, radix: 16) != nil }) {
      return parts.contains { $0.isByteEqual(hex) }
    }
    // Caddy: both without a mark between them, to the base of 36.
    let end = String(length, radix: 36)
    return text.hasByteSuffix(end) && (6...13).contains(text.utf8.count - end.utf8.count)
      && UInt64(text.dropLast(end.count), radix: 36) != nil
  }

  /// Whether the server does not promise equal bytes (RFC 9110, section 8.8.1).
  package var hasWeakTag: Bool { tag?.isWeak ?? false }

  private var tag: EntityTag? { entityTag.flatMap { EntityTag($0) } }
  private var strongTag: EntityTag? { tag.flatMap { $0.isWeak ? nil : $0 } }
  private var strongDate: String? { lastModifiedIsStrong ? lastModified : nil }
}
