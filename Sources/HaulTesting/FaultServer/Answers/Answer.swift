/// A whole response as it goes over the wire, stops and endings included.
struct Answer: Sendable {
  enum BodyPart: Sendable, Equatable {
    case bytes([UInt8])
    case content(SeededContent, Range<Int64>)
    /// Without end, in pieces of whatever size is asked for.
    case endless(SeededContent)
  }

  /// Interim responses before the head.
  struct Interim: Sendable {
    var bytes: [UInt8]
    /// Nil never ends.
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
  /// Nil keeps the connection.
  var ending: Fault.Ending?

  /// HTTP/2 has frames of its own.
  mutating func dropChunks() {
    isChunked = false
    tail = []
  }
}
