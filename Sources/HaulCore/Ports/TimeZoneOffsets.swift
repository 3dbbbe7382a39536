/// The wall-clock time of a place, as a port: time zones are data, which change.
package protocol TimeZoneOffsets: Sendable {
  /// The offset from UTC, in seconds, at a time in seconds since 1970.
  func offset(at seconds: Int64) -> Int64
}
