/// A whole response as it is sent, with its stops and its ending.
struct Answer: Sendable {
  enum BodyPart: Sendable, Equatable {
    case bytes([UInt8])
    case content(SeededContent, Range<Int64>)
    /// Endless, in pieces of the requested size.
    case endless(SeededContent)
  }

  /// Interim responses before the head.
  struct Interim: Sendable {
    var bytes: [UInt8]
    /// Nil for no end.
    var count: Int?
    var milliseconds: Int64
  }

  struct Stop: Sendable, Equatable {
    var how: Fault.Ending
    var part: Fault.Part
    var after: Int64
  }

  var status: Int?
  var interim: Interim?
  var head: [UInt8]
  var body: [BodyPart] = []
  var isChunked = false
  /// After the last body byte: the terminal chunk with its trailers, or nothing.
  var tail: [UInt8] = []
  var stops: [Stop] = []
  var pace: Pacer.Pace?
  /// Nil keeps the connection open.
  var ending: Fault.Ending?

  /// HTTP/2 has its own frames.
  mutating func dropChunks() {
    isChunked = false
    tail = []
  }
}
