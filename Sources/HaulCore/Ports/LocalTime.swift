/// What the clocks on the walls of a place show, as a port: time zones are data, which change.
package protocol LocalTime: Sendable {
  /// How many seconds they are ahead of UTC at a time, which is in seconds since 1970.
  func offset(at seconds: Int64) -> Int64
}
