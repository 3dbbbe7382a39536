/// The uploads on the server that are one file together: one, or several that the server joins.
struct TusParts: Hashable, Sendable {
  struct Part: Hashable, Sendable {
    /// Its bytes of the file.
    var range: ByteRange
    /// Nil before it is created.
    var url: ResourceURL?
    /// In the file: the server has the bytes of the range before it.
    var offset: Int64
    /// In the file: the server may have those before it, and no more. They were sent to it, or may
    /// have been before a crash.
    var mostSent: Int64
    /// Whether the server has said what it has, since the last failure.
    var isKnown = false
    /// What is read and sent now; nil for nothing.
    var chunk: ByteRange?

    var isDone: Bool { offset == range.upperBound }

    init(_ range: ByteRange) {
      (self.range, offset, mostSent) = (range, range.lowerBound, range.lowerBound)
    }
  }

  private(set) var all: [Part]

  /// Parts that do not exist yet, of about the same length.
  init(length: Int64, count: Int = 1) {
    let size = max(1, (length + Int64(count) - 1) / Int64(count))
    let rest = stride(from: size, to: length, by: Int64.Stride(size))
    all = ([0] + rest).map { Part($0..<min($0 + size, length)) }
  }

  /// Those that an earlier run stored; nil if they cannot be read, or are not the whole file.
  init?(_ record: UploadRecord, length: Int64, _ request: UploadRequest) {
    let stored = record.tus?.parts ?? []
    var parts: [Part] = []
    for one in stored.isEmpty ? [.init(address: record.address, range: 0..<length)] : stored {
      guard let url = request.address(of: one.address),
        one.range.lowerBound == parts.last?.range.upperBound ?? 0
      else { return nil }
      var part = Part(one.range)
      (part.url, part.mostSent) = (url, one.range.upperBound)
      parts.append(part)
    }
    guard parts.last?.range.upperBound == length else { return nil }
    all = parts
  }

  /// A file of this length is sent in parts, if the server can join them.
  static let smallest: Int64 = 64 << 20
  static let most = 4
  /// A server that answers sooner is near: there, joining the parts takes it longer than they save.
  /// The time has two round trips in it, or three with TLS.
  static let near = Duration.milliseconds(50)
  /// The most bytes of a request that is not for all the rest. A server that checks them may keep
  /// none if the request is interrupted; and a part that failed is tried again once the others
  /// have ended their requests.
  static let step: Int64 = 16 << 20

  subscript(_ number: Int) -> Part { all[number] }
  /// Whether the server must join them.
  var areSeveral: Bool { all.count > 1 }
  var areOpen: Bool { openCount > 0 }
  var openCount: Int { all.count { $0.chunk != nil } }
  var undoneCount: Int { all.count { !$0.isDone } }
  /// The bytes that the server has.
  var acknowledged: Int64 { all.reduce(0) { $0 + $1.offset - $1.range.lowerBound } }
  var firstWithoutAddress: Int? { all.firstIndex { $0.url == nil } }
  var firstUnknown: Int? { all.firstIndex { !$0.isKnown } }

  /// More of a stream can be sent.
  mutating func extend(to end: Int64) { all[0].range = 0..<end }

  /// The server has made the part, and has nothing of it.
  mutating func create(_ number: Int, at url: ResourceURL) {
    (all[number].url, all[number].isKnown) = (url, true)
  }

  /// What the server has must be asked for.
  mutating func forgetOffsets() {
    for number in all.indices { (all[number].isKnown, all[number].chunk) = (false, nil) }
  }

  /// Begins to send the next bytes of a part that is not open; nil if there is none.
  mutating func openNext(upTo count: Int64) -> Int? {
    guard let number = all.firstIndex(where: { $0.chunk == nil && !$0.isDone }) else {
      return nil
    }
    let (start, end) = (all[number].offset, all[number].range.upperBound)
    all[number].chunk = start..<(end - start > count ? start + count : end)
    return number
  }

  /// So many bytes of the chunk were sent. The server may have them.
  mutating func close(_ number: Int, sent: Int64) {
    all[number].chunk = nil
    all[number].mostSent = max(all[number].mostSent, all[number].offset + sent)
  }

  /// The server has the bytes of the part before this offset in the file.
  mutating func acknowledge(_ number: Int, to offset: Int64) {
    (all[number].offset, all[number].isKnown) = (offset, true)
  }
}
