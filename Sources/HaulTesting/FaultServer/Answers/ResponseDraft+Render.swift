import HaulCore
import NIOHTTP1

extension ResponseDraft {
  /// The draft as bytes to send.
  func rendered(keepsAlive: Bool) -> Answer {
    if let raw {
      return Answer(
        status: nil, interim: interim, head: raw.bytes, stops: stops, ending: raw.then)
    }
    let body = bodyParts
    let sent = body.reduce(0) { $0 + $1.length }
    let closing = closing(bodyLength: sent, keepsAlive: keepsAlive)
    var answer = Answer(status: status, interim: interim, head: [])
    answer.head = head(bodyLength: sent, announcesClose: closing.announced)
    answer.ending = closing.ending
    answer.stops = stops.sorted {
      ($0.part == .head ? 0 : 1, $0.after) < ($1.part == .head ? 0 : 1, $1.after)
    }
    guard !hasNoBody else { return answer }
    answer.body = body
    answer.pace = pace
    if case .chunked(let terminal, let trailers) = framing {
      answer.isChunked = true
      let lines = ["0"] + trailers + ["", ""]
      answer.tail = terminal ? Array(lines.joined(separator: "\r\n").utf8) : []
    }
    return answer
  }

  private var bodyParts: [Answer.BodyPart] {
    switch payload {
    case .bytes(let bytes):
      return bytes.isEmpty ? extraParts(from: 0) : [.bytes(bytes)] + extraParts(from: 0)
    case .endless: return [.endless(content)]
    case .content(let range):
      guard !isMultipart else { return multipartParts(range) }
      let whole = range.lowerBound..<(range.upperBound + extraBytes)
      return whole.isEmpty ? [] : [.content(content, whole)]
    }
  }

  private func extraParts(from offset: Int64) -> [Answer.BodyPart] {
    extraBytes > 0 ? [.content(content, offset..<(offset + extraBytes))] : []
  }

  private static let boundary = "fault-server-part"

  private func multipartParts(_ range: Range<Int64>) -> [Answer.BodyPart] {
    let lines = [
      "--\(Self.boundary)", "Content-Type: application/octet-stream",
      "Content-Range: \(expand(contentRange ?? ""))", "", "",
    ]
    return [
      .bytes(Array(lines.joined(separator: "\r\n").utf8)), .content(content, range),
      .bytes(Array("\r\n--\(Self.boundary)--\r\n".utf8)),
    ]
  }

  private func declared(_ bodyLength: Int64) -> Int64 {
    bodyLength - (extraIsDeclared ? 0 : extraBytes) + declaredDifference
  }

  /// Whether the connection ends after the answer, and how.
  private func closing(
    bodyLength: Int64, keepsAlive: Bool
  ) -> (ending: Fault.Ending?, announced: Bool) {
    let announced = announcesClose || !keepsAlive
    let fallback: Fault.Ending? = announced || closesAfterwards ? .close : nil
    guard !hasNoBody else { return (fallback, announced) }
    switch framing {
    case .closeDelimited(_, let closeNotify):
      return (closeNotify ? .close : .closeWithoutNotify, announced)
    case .chunked(let terminal, _): return (terminal ? fallback : .close, announced)
    case .length:
      let lengths = contentLengths.map { $0.compactMap { Int64(expand($0, length: bodyLength)) } }
      let length = lengths.map { $0.max() ?? .max } ?? declared(bodyLength)
      return (length > bodyLength ? .close : fallback, announced)
    }
  }

  private func head(bodyLength: Int64, announcesClose: Bool) -> [UInt8] {
    var version = "1.1"
    var all = fields
    if isMultipart {
      all.removeAll { $0.name.lowercased() == "content-type" }
      all.append(field("Content-Type", "multipart/byteranges; boundary=\(Self.boundary)"))
    } else if claimed != nil, let contentRange {
      all.append(field("Content-Range", expand(contentRange)))
    }
    switch framing {
    case .length: break
    case .chunked: all.append(field("Transfer-Encoding", "chunked"))
    case .closeDelimited(let httpVersion, _): version = httpVersion
    }
    let real = framing == .length && status != 204 && status != 304
    for value in contentLengths ?? (real ? [String(declared(bodyLength))] : []) {
      all.append(field("Content-Length", expand(value, length: bodyLength)))
    }
    if announcesClose { all.append(field("Connection", "close")) }
    return Self.headBytes(
      version: version, status: status, reason: reason ?? Self.reason(status), fields: all)
  }

  private func field(_ name: String, _ value: String) -> Field {
    Field(name: name, value: Array(value.utf8))
  }

  private static func reason(_ status: Int) -> [UInt8] {
    Array(HTTPResponseStatus(statusCode: status).reasonPhrase.utf8)
  }

  private static func headBytes(
    version: String, status: Int, reason: [UInt8], fields: [Field]
  ) -> [UInt8] {
    var bytes = Array("HTTP/\(version) \(status) ".utf8) + reason + Array("\r\n".utf8)
    for field in fields {
      bytes += Array("\(field.name): ".utf8) + field.value + Array("\r\n".utf8)
    }
    return bytes + Array("\r\n".utf8)
  }
}

extension Answer.BodyPart {
  /// In bytes; `Int64.max` if endless.
  var length: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .content(_, let range): range.length
    case .endless: .max
    }
  }
}
