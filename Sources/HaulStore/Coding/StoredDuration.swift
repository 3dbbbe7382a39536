/// A duration as two numbers: seconds and attoseconds.
struct StoredDuration: Codable, Hashable {
  let duration: Duration

  init(_ duration: Duration) { self.duration = duration }

  init(from decoder: any Decoder) throws {
    var parts = try decoder.unkeyedContainer()
    duration = Duration(
      secondsComponent: try parts.decode(Int64.self),
      attosecondsComponent: try parts.decode(Int64.self))
  }

  func encode(to encoder: any Encoder) throws {
    var parts = encoder.unkeyedContainer()
    try parts.encode(duration.components.seconds)
    try parts.encode(duration.components.attoseconds)
  }
}
