extension Fault {
  /// How a response stops.
  package enum Ending: String, Codable, Hashable, Sendable {
    /// A TCP reset, after the client has acknowledged the bytes before it.
    case reset
    /// A FIN; over TLS, after a close_notify.
    case close
    /// A FIN without close_notify; without TLS the same as `close`.
    case closeWithoutNotify
    /// Nothing more, until the test releases it.
    case stall
    /// RST_STREAM with REFUSED_STREAM (RFC 9113, section 8.7); over HTTP/1.1 the same as `reset`.
    case refuse
    /// GOAWAY that excludes this stream (RFC 9113, section 6.8); over HTTP/1.1 the same as `close`.
    case goAway
    /// RST_STREAM with HTTP_1_1_REQUIRED; over HTTP/1.1 the same as `reset`.
    case demandHTTP1
    /// The same GOAWAY with HTTP_1_1_REQUIRED.
    case goAwayDemandingHTTP1
    /// The end of the stream, then GOAWAY after it; over HTTP/1.1 the same as `close`.
    case endThenGoAway
    /// Two DATA frames without data, and nothing more; over HTTP/1.1 the same as `close`.
    case emptyData
    /// A PUSH_PROMISE that the client forbade, without an answer; over HTTP/1.1 the same as
    /// `close`.
    case push
  }

  /// What happens in the middle of a request's body.
  package enum UploadEnding: String, Codable, Hashable, Sendable {
    /// The answer is sent, and the rest of the body is read.
    case answer
    case reset, close
    /// Nothing more is read, as if the server were busy for ever.
    case stopReading
  }

  package enum Part: String, Codable, Hashable, Sendable {
    case head, body
  }

  package enum HostileTextPosition: String, Codable, Hashable, Sendable {
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

  /// One change of the correct answer. Optional values may be missing in JSON; their defaults are
  /// in the comments. Templates may contain `{first}`, `{last}` and `{total}` of the served range,
  /// `{length}` of the body, and `{port}`.
  package enum Action: Codable, Hashable, Sendable {
    // The resource, for this request
    /// Other content, with the old validators unless `entityTag` follows.
    case content(seed: UInt64, length: Int64? = nil)
    /// Another entity tag, in the form in which it is sent; nil for none.
    case entityTag(value: String?)
    case lastModified(seconds: Int64?)
    /// Answers 200 with everything.
    case ignoreRange
    /// Answers 206 to any validator.
    case ignoreIfRange
    /// Answers 200 with everything to every `If-Range`, equal or not.
    case refuseIfRange

    // Another answer
    /// This status with these fields (`Name: value`) and this body.
    case respond(status: Int, reason: String? = nil, headers: [String]? = nil, body: String? = nil)
    /// 302 by default.
    case redirect(status: Int? = nil, location: String?)
    /// A status (default 503) with `Retry-After` in seconds, or as the date so many seconds from
    /// now.
    case retryLater(status: Int? = nil, seconds: Int64, asDate: Bool? = nil)
    /// 416, by default with `Content-Range: bytes */N`.
    case rangeNotSatisfiable(withTotal: Bool? = nil)
    /// Bytes instead of the whole answer: a scalar up to U+00FF is one byte, others are UTF-8. Then
    /// `close` by default.
    case raw(text: String, then: Ending? = nil)

    // Ranges
    /// Answers 206 with everything to a request without a range.
    case unaskedPartial
    /// `Content-Range` from a template, nil for none.
    case contentRange(value: String?)
    /// The range begins so many bytes later. By default `Content-Range` shows it.
    case shiftRange(by: Int64, honest: Bool? = nil)
    /// A 206 of at most so many bytes, with a correct `Content-Range`.
    case shortenRange(to: Int64)
    /// The range as `multipart/byteranges`.
    case multipart

    // Body and framing
    /// So many bytes beyond the range or the end; by default included in `Content-Length`.
    case lengthenBody(by: Int64, declared: Bool? = nil)
    /// These bytes, in base64, instead of the content.
    case body(base64: String)
    /// A `Content-Length` that is so much too high (the connection closes early) or too low (more
    /// bytes follow).
    case declareLength(by: Int64)
    /// These `Content-Length` lines, unchanged (templates); none for an empty list.
    case contentLength(values: [String])
    /// Chunked, without `Content-Length`. Without a terminal chunk, the connection closes instead.
    case chunked(terminal: Bool? = nil, trailers: [String]? = nil)
    /// No length: the body ends with the connection. HTTP/1.0 and close_notify by default.
    case closeDelimited(version: String? = nil, closeNotify: Bool? = nil)
    /// An endless body, chunked or close-delimited.
    case endless(chunked: Bool? = nil)

    // Head
    case setHeaders(fields: [String])
    case addHeaders(fields: [String])
    case removeHeaders(names: [String])
    /// A correct `Repr-Digest` by default.
    case digest(field: DigestField? = nil, wrong: Bool? = nil)
    /// ESC, BEL, 0x9B, U+009B, U+202E and others in that place; `fold` is a folded line.
    case hostileText(place: HostileTextPosition)
    /// One line of so many bytes, and so many small fields.
    case headerBomb(lineBytes: Int? = nil, fields: Int? = nil)
    /// Interim responses (default 103) before the head, so many milliseconds apart (default 0).
    /// They never end if the count is nil.
    case informational(
      status: Int? = nil, count: Int? = nil, headers: [String]? = nil,
      milliseconds: Int64? = nil)

    // The body of the request
    /// After so many bytes of the request's body: answers at once, or ends or stops reading.
    case upload(after: Int64, then: UploadEnding)

    // Time and connection
    /// Ends or holds the response after so many bytes of the body, or of the head. Has no effect
    /// beyond its end.
    case cut(how: Ending, after: Int64, in: Part? = nil)
    /// So many body bytes (default 1) at a time, so many milliseconds apart (default 1000).
    case drip(bytes: Int? = nil, milliseconds: Int64? = nil)
    case rate(bytesPerSecond: Int64)
    /// Closes after the whole answer; only if announced, with `Connection: close`.
    case closeAfterwards(announced: Bool? = nil)
  }
}

extension Fault.Action {
  /// Whether the answer is another one than that of the resource.
  var replacesAnswer: Bool {
    switch self {
    case .respond, .redirect, .retryLater, .raw: true
    default: false
    }
  }

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
