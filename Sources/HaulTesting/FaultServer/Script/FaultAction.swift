extension Fault {
  /// How a response stops.
  package enum Ending: String, Codable, Hashable, Sendable {
    /// A TCP reset, after the bytes before it were acknowledged by the other side.
    case reset
    /// A FIN, over TLS after a close_notify.
    case close
    /// A FIN without close_notify; the same as `close` without TLS.
    case closeWithoutNotify
    /// Nothing more until the test releases it.
    case stall
    /// RST_STREAM with REFUSED_STREAM (RFC 9113, section 8.7); over HTTP/1.1 the same as `reset`.
    case refuse
    /// GOAWAY that leaves this stream out (RFC 9113, section 6.8); over HTTP/1.1 the same as
    /// `close`.
    case goAway
    /// RST_STREAM with HTTP_1_1_REQUIRED; over HTTP/1.1 the same as `reset`.
    case demandHTTP1
    /// A PUSH_PROMISE that the client forbade, and no answer; over HTTP/1.1 the same as `close`.
    case push
  }

  package enum Part: String, Codable, Hashable, Sendable {
    case head, body
  }

  package enum TextPlace: String, Codable, Hashable, Sendable {
    case reason, header, fold, disposition
  }

  package enum DigestField: String, Codable, Hashable, Sendable {
    /// `Repr-Digest` of the whole resource (RFC 9530, section 3).
    case repr
    /// `Content-Digest` of the bytes of this response (RFC 9530, section 2).
    case content
    /// `Digest` of the whole resource (RFC 3230).
    case legacy
  }

  /// One change of the honest answer. What is optional has the default its comment tells (JSON may
  /// leave it out). In templates `{first}`, `{last}`, `{total}` (of the range
  /// served), `{length}` (of the body) and `{port}` are replaced.
  package enum Action: Codable, Hashable, Sendable {
    // What the resource is for this request
    /// Other content, with the old validators unless `entityTag` follows.
    case content(seed: UInt64, length: Int64? = nil)
    /// Another entity tag as on the wire, nil for none.
    case entityTag(value: String?)
    case lastModified(seconds: Int64?)
    /// Answers 200 and the whole.
    case ignoreRange
    /// Answers 206 whatever validator the client has.
    case ignoreIfRange
    /// Answers 200 and the whole to every `If-Range`, equal or not.
    case refuseIfRange

    // Another answer
    /// This status with these fields (`Name: value`) and this body.
    case respond(status: Int, reason: String? = nil, headers: [String]? = nil, body: String? = nil)
    /// 302 unless told.
    case redirect(status: Int? = nil, location: String?)
    /// A status (503 unless told) with `Retry-After` in seconds, or as the date so many seconds
    /// from now.
    case retryLater(status: Int? = nil, seconds: Int64, asDate: Bool? = nil)
    /// 416, with `Content-Range: bytes */N` unless told without.
    case rangeNotSatisfiable(withTotal: Bool? = nil)
    /// Bytes in place of the whole answer: a scalar up to U+00FF is one byte, others are UTF-8;
    /// then `close` unless told.
    case raw(text: String, then: Ending? = nil)

    // Ranges
    /// 206 with the whole to a request without a range.
    case unaskedPartial
    /// `Content-Range` from a template, nil for none.
    case contentRange(value: String?)
    /// The range begins so many bytes later; told in `Content-Range` unless it is
    /// not honest.
    case shiftRange(by: Int64, honest: Bool? = nil)
    /// A 206 of at most so many bytes, told truly.
    case shortenRange(to: Int64)
    /// The one range as `multipart/byteranges`.
    case multipart

    // Body and framing
    /// So many bytes beyond the range or the end, in `Content-Length` unless not
    /// declared.
    case lengthenBody(by: Int64, declared: Bool? = nil)
    /// These bytes, in base64, in place of the content.
    case body(base64: String)
    /// `Content-Length` so much off (over: the connection closes short; under: bytes follow).
    case declareLength(by: Int64)
    /// These `Content-Length` lines, literally (templates); none for an empty list.
    case contentLength(values: [String])
    /// Chunked without `Content-Length`; without a terminal chunk it closes instead.
    case chunked(terminal: Bool? = nil, trailers: [String]? = nil)
    /// No length: the end is the end of the connection. HTTP/1.0 and close_notify unless told.
    case closeDelimited(version: String? = nil, closeNotify: Bool? = nil)
    /// A body without end: chunked, or close-delimited when told so.
    case endless(chunked: Bool? = nil)

    // Head
    case setHeaders(fields: [String])
    case addHeaders(fields: [String])
    case removeHeaders(names: [String])
    /// `Repr-Digest` and right unless told.
    case digest(field: DigestField? = nil, wrong: Bool? = nil)
    /// ESC, BEL, 0x9B, U+009B, U+202E and friends in that place; `fold` is a folded line.
    case hostileText(place: TextPlace)
    /// One line of so many bytes and so many small fields.
    case headerBomb(lineBytes: Int? = nil, fields: Int? = nil)
    /// Interim responses (103 unless told) before the head, so many milliseconds apart (0); a nil
    /// count never ends.
    case informational(
      status: Int? = nil, count: Int? = nil, headers: [String]? = nil,
      milliseconds: Int64? = nil)

    // Time and connection
    /// Ends or holds the response after so many bytes of the body, or head when told.
    /// Beyond the end: nothing.
    case cut(how: Ending, after: Int64, in: Part? = nil)
    /// So many body bytes (1) at a time, so far apart (1000).
    case drip(bytes: Int? = nil, milliseconds: Int64? = nil)
    case rate(bytesPerSecond: Int64)
    /// Closes after the whole answer, in silence unless announced in `Connection`.
    case closeAfterwards(announced: Bool? = nil)
  }
}

extension Fault.Action {
  package static func reset(after bytes: Int64) -> Self { .cut(how: .reset, after: bytes) }
  package static func close(after bytes: Int64) -> Self { .cut(how: .close, after: bytes) }
  /// Holds the response after so many body bytes until the test releases it.
  package static func stall(after bytes: Int64) -> Self { .cut(how: .stall, after: bytes) }
  package static var stallBeforeHead: Self { .cut(how: .stall, after: 0, in: .head) }
  package static func stallInHead(after bytes: Int64) -> Self {
    .cut(how: .stall, after: bytes, in: .head)
  }
  package static func status(_ status: Int, headers: [String] = [], body: String = "") -> Self {
    .respond(status: status, headers: headers, body: body)
  }
}
