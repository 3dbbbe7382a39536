extension Validator {
  /// Reads `ETag` and `Last-Modified` of a response (RFC 9110, sections 8.8.2 and 8.8.3).
  ///
  /// A malformed tag, or several different ones, count as none. `Last-Modified` is strong if it is
  /// at least 60 s before the response's `Date` (section 8.8.2.2). Then it changes even if the file
  /// changes twice in a second, or the clock is slightly wrong. `now` is wall time in seconds since
  /// 1970, only for two-digit years.
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
