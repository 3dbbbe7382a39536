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

  /// So many bytes each so many nanoseconds.
  struct Pace: Sendable, Equatable {
    var bytes: Int
    var nanoseconds: Int64

    /// Pieces of about 20 ms, at most 256 KiB.
    static func rate(_ bytesPerSecond: Int64) -> Pace {
      let rate = max(1, bytesPerSecond)
      let bytes = min(max(1, rate / 50), 256 * 1024)
      return Pace(bytes: Int(bytes), nanoseconds: bytes * 1_000_000_000 / rate)
    }
  }

  var status: Int?
  var interim: Interim?
  var head: [UInt8]
  var body: [BodyPart] = []
  var isChunked = false
  /// After the last body byte: the terminal chunk with its trailers, or nothing.
  var tail: [UInt8] = []
  var stops: [Stop] = []
  var pace: Pace?
  /// Nil keeps the connection.
  var ending: Fault.Ending?
}
