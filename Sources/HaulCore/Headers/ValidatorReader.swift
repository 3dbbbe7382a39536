extension Validator {
  /// Reads `ETag` and `Last-Modified` of a response (RFC 9110, sections 8.8.2 and 8.8.3).
  ///
  /// A malformed tag, or several that differ, are as good as none: nothing may be concluded from
  /// them. `Last-Modified` is strong when it is at least 60 s before the response's `Date` (section
  /// 8.8.2.2): a second change within the clock's second, or a clock that is a little off, can then
  /// no longer hide behind the same date. `now` is wall time in seconds since 1970, for two-digit
  /// years only.
  package init(_ headers: HeaderFields, now: Double) {
    let lastModified = headers.single("Last-Modified")
    self.init(
      entityTag: headers.single("ETag").flatMap { EntityTag($0) == nil ? nil : $0 },
      lastModified: lastModified,
      lastModifiedIsStrong: Self.isStrong(
        lastModified, date: headers.single("Date"), now: now))
  }

  private static func isStrong(_ lastModified: String?, date: String?, now: Double) -> Bool {
    guard let modified = lastModified.flatMap({ HTTPDate($0, now: now) }),
      let date = date.flatMap({ HTTPDate($0, now: now) })
    else { return false }
    return modified.secondsSince1970 <= date.secondsSince1970 - 60
  }
}
