import HaulCore
import NIOCore

/// Walks through an answer: what to write, where to stop, how to end.
struct ResponseCursor {
  enum Output {
    /// Bytes to write; `body` of them are body bytes.
    case bytes(ByteBuffer, body: Int)
    case pause(milliseconds: Int64)
    case stop(Fault.Ending)
    case finished
  }

  private let answer: Answer
  private var stops: ArraySlice<Answer.Stop>
  private var interimSent = 0
  private var interimPauses = false
  private var headSent = 0
  private var bodySent: Int64 = 0
  private var part = 0
  private var partSent: Int64 = 0
  private var tailSent = false
  private let allocator: ByteBufferAllocator

  init(_ answer: Answer, allocator: ByteBufferAllocator) {
    self.answer = answer
    self.allocator = allocator
    stops = answer.stops[...]
  }

  var ending: Fault.Ending? { answer.ending }

  /// Whether the next bytes are body bytes, which are paced.
  var isInBody: Bool {
    (answer.interim.map { interimSent == $0.count } ?? true)
      && headSent == answer.head.count && part < answer.body.count
  }

  /// The next output; body pieces have at most `limit` bytes.
  mutating func next(limit: Int) -> Output {
    if let output = nextInterim() { return output }
    if let output = nextOfHead() { return output }
    if let output = nextOfBody(limit: limit) { return output }
    guard !tailSent else { return .finished }
    tailSent = true
    return answer.tail.isEmpty
      ? .finished : .bytes(allocator.buffer(bytes: answer.tail), body: 0)
  }

  private mutating func nextInterim() -> Output? {
    guard let interim = answer.interim, interimSent != interim.count else { return nil }
    if interimPauses {
      interimPauses = false
      return .pause(milliseconds: interim.milliseconds)
    }
    interimSent += 1
    interimPauses = interim.milliseconds > 0
    return .bytes(allocator.buffer(bytes: interim.bytes), body: 0)
  }

  private mutating func nextOfHead() -> Output? {
    if let stop = stops.first, stop.part == .head, stop.after <= headSent {
      stops.removeFirst()
      return .stop(stop.how)
    }
    guard headSent < answer.head.count else { return nil }
    var end = answer.head.count
    if let stop = stops.first, stop.part == .head { end = min(end, Int(stop.after)) }
    defer { headSent = end }
    return .bytes(allocator.buffer(bytes: answer.head[headSent..<end]), body: 0)
  }

  private mutating func nextOfBody(limit: Int) -> Output? {
    // A stop of the head whose offset is past its end has no effect.
    while stops.first?.part == .head { stops.removeFirst() }
    if let stop = stops.first, stop.after <= bodySent {
      stops.removeFirst()
      return .stop(stop.how)
    }
    guard part < answer.body.count else { return nil }
    let current = answer.body[part]
    var count = min(Int64(limit), current.length - partSent)
    if let stop = stops.first { count = min(count, stop.after - bodySent) }
    let buffer = piece(of: current, count: Int(count))
    bodySent += count
    partSent += count
    if partSent == current.length {
      part += 1
      partSent = 0
    }
    return .bytes(buffer, body: Int(count))
  }

  private func piece(of current: Answer.BodyPart, count: Int) -> ByteBuffer {
    let size = answer.isChunked ? String(count, radix: 16) + "\r\n" : ""
    var buffer = allocator.buffer(capacity: count + size.utf8.count + 2)
    buffer.writeString(size)
    switch current {
    case .bytes(let bytes): buffer.writeBytes(bytes[Int(partSent)..<(Int(partSent) + count)])
    case .content(let content, let range):
      write(content, at: range.lowerBound + partSent, count: count, to: &buffer)
    case .endless(let content): write(content, at: partSent, count: count, to: &buffer)
    }
    if answer.isChunked { buffer.writeString("\r\n") }
    return buffer
  }

  private func write(
    _ content: SeededContent, at offset: Int64, count: Int, to buffer: inout ByteBuffer
  ) {
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
      content.fill(UnsafeMutableRawBufferPointer(rebasing: target[0..<count]), at: offset)
      return count
    }
  }
}
