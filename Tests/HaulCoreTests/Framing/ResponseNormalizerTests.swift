import HaulCore
import Testing

/// The answers of careless servers, before the parser.
@Suite struct ResponseNormalizerTests {
  /// The bytes for the parser, from a piece for each `size` bytes; a scalar up to U+00FF is a byte.
  private func normalized(
    _ text: String, pieces size: Int = .max, toHead: Bool = false
  ) throws -> [UInt8] {
    var normalizer = ResponseNormalizer()
    normalizer.expectAnswer(toHead: toHead)
    var result: [UInt8] = []
    var rest = bytes(text)[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      result += try piece.withUnsafeBytes { try normalizer.take($0) } ?? piece
    }
    return result
  }

  private func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { $0.value < 0x100 ? [UInt8($0.value)] : Array(String($0).utf8) }
  }

  /// The same for every size of the pieces.
  private func expect(_ text: String, becomes wanted: String, toHead: Bool = false) throws {
    for size in [Int.max, 7, 2, 1] {
      let result = try normalized(text, pieces: size, toHead: toHead)
      #expect(
        result == bytes(wanted), "\(String(decoding: result, as: UTF8.self)) in pieces of \(size)")
    }
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX_y-Z1:a b\r\n\r\nhello",
    "HTTP/1.0 200 \r\nConnection: keep-alive\r\nContent-Length:  005\r\n\r\nhello",
    "HTTP/1.1 404\r\nX:\r\nY: \r\nA: b\tc\r\n\r\n\0\r\n\n",
    "HTTP/1.1 200 caf\u{E9}\r\nName: na\u{C3}\u{AF}ve\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nETag:\"na\u{C3}\u{AF}ve\"\r\nSet-Cookie: a=\u{C3}\u{BC}\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "5\r\nhe\n\0o\r\n0A\r\n0123456789\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\nanything \n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n"
      + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nHTTP \n",
  ])
  func `A clean answer is not changed`(text: String) throws {
    try expect(text, becomes: text)
  }

  @Test(arguments: [
    ("HTTP/1.1 404 No\r\nDate: x\r\n", true), ("HTTP/1.1 200 OK\r\n", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", false),
    ("HTTP/1.1 204 No\r\n", false), ("HTTP/1.1 304 No\r\n", false),
    ("HTTP/1.0 200 OK\r\n", false),
  ])
  func `An answer to HEAD without a length leaves the connection open, and the length unknown`(
    head: String, isFramed: Bool
  ) throws {
    let added = isFramed ? "Transfer-Encoding: chunked\r\n" : ""
    try expect(head + "\r\n", becomes: head + added + "\r\n", toHead: true)
    let interim = "HTTP/1.1 103 Hints\r\n\r\n"
    try expect(interim + head + "\r\n", becomes: interim + head + added + "\r\n", toHead: true)
    try expect(head + "\r\n", becomes: head + "\r\n")
  }

  static let close = "Connection: close\r\n"

  static let repaired: [(String, String)] = [
    // Lines
    ("\r\n\nHTTP/1.1 200 OK\r\nX: y\r\n\r\n\n", "HTTP/1.1 200 OK\r\nX: y\r\n\(close)\r\n\n"),
    (
      "HTTP/1.1 200 OK\nContent-Length: 2\n\n\n\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(close)\r\n\n\n"
    ),
    ("HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\(close)\r\n"),
    (
      "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\t d \r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b c d\r\n\(close)\r\n"
    ),
    ("HTTP/1.1  200\tOK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
    ("http/1.2 200\r\n\r\n", "HTTP/1.1 200\r\n\(close)\r\n"),
    ("HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\(close)\r\n"),
    (
      "HTTP/1.1 200 OK\r\nA: b\r\n: c\r\nD e(f): g\r\n h\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b\r\n\(close)\r\n"
    ),
    ("HTTP/1.1 200 \u{1B}[2J\r\n\r\n", "HTTP/1.1 200  [2J\r\n\r\n"),
    ("HTTP/1.1 200 OK\r\nLength : 5\r\n\r\n", "HTTP/1.1 200 OK\r\nLength: 5\r\n\(close)\r\n"),
    ("HTTP/1.1 200 OK\r\nA: \t b \t\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
    ("HTTP/1.1 200 OK\r\nA: b\u{1}\u{7F}c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b  c\r\n\r\n"),
    // Lengths
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\ncontent-length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5, 05\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5;\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5 bytes\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5\t\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    ),
    (
      "HTTP/1.0 200 OK\r\nConnection: Keep-Alive, x\r\nContent-Length: 5,5\r\n\r\nhello",
      "HTTP/1.0 200 OK\r\nConnection:  x\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    // Codings
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\n\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(close)\r\n0\r\n\r\n"
    ),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        + "Transfer-Encoding: identity, CHUNKED\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(close)\r\n"
    ),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: none\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(close)\r\nhello"
    ),
    (
      "HTTP/1.0 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.0 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    (
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\(close)\r\n0\r\n\r\n"
    ),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\(close)\r\nhello"
    ),
    // Text
    (
      "HTTP/1.1 200 OK\r\nName: gr\u{FC}n \u{80}\r\n\r\n",
      "HTTP/1.1 200 OK\r\nName: gr\u{C3}\u{BC}n \u{20AC}\r\n\r\n"
    ),
    ("HTTP/1.1 200 OK\r\nName: \u{81}\u{FC}\r\n\r\n", "HTTP/1.1 200 OK\r\nName: %81%FC\r\n\r\n"),
    (
      "HTTP/1.1 200 OK\r\nName: \u{83}|\r\nName: \u{83}_\r\nName: \u{E9}\\a\\b|\r\n\r\n",
      "HTTP/1.1 200 OK\r\nName: %83%7C\r\nName: \u{C6}\u{92}_\r\nName: %E9%5Ca\\b|\r\n\r\n"
    ),
    (
      "HTTP/1.1 200 OK\r\nName: a\u{A0}\r\nName: \u{AD}b\r\n\r\n",
      "HTTP/1.1 200 OK\r\nName: a%A0\r\nName: %ADb\r\n\r\n"
    ),
    (
      "HTTP/1.1 200 OK\r\nETag: \"\u{E9}\"\r\nlast-modified: \u{80}\r\n"
        + "Set-Cookie: a=\u{A0}\\\r\n\r\n",
      "HTTP/1.1 200 OK\r\nETag: \"\u{10FEE9}\"\r\nlast-modified: \u{10FE80}\r\n"
        + "Set-Cookie: a=\u{10FEA0}\\\r\n\r\n"
    ),
    (
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest nonce=\"\u{C3}\"\r\n"
        + "Proxy-Authenticate: Digest nonce=\"\u{10FEE9}\"\r\n\r\n",
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest nonce=\"\u{10FEC3}\"\r\n"
        + "Proxy-Authenticate: Digest nonce=\"\u{10FEF4}\u{10FE8F}\u{10FEBB}\u{10FEA9}\"\r\n\r\n"
    ),
    (
      "HTTP/1.1 200 OK\r\nLocation: /caf\u{E9}\r\n\r\n",
      "HTTP/1.1 200 OK\r\nLocation: /caf%E9\r\n\r\n"
    ),
  ]

  @Test(arguments: repaired)
  func `A faulty head gets its one meaning, and the connection is closed`(
    text: String, wanted: String
  ) throws {
    try expect(text, becomes: wanted)
  }

  @Test(arguments: [
    ("5  \r\nh\n \0;\r\n0\r\n\r\n", "5\r\nh\n \0;\r\n0\r\n\r\n"),
    ("00005\t;a=\"b\"\nhello\n0\n\n", "00005\r\nhello\r\n0\r\n\r\n"),
    ("5;x\r\nhello\r\n0;y\r\nA: b\r\nC: d\n\r\nrest\n", "5\r\nhello\r\n0\r\n\r\nrest\n"),
  ])
  func `The framing of chunks is repaired, and their content is not touched`(
    body: String, wanted: String
  ) throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    try expect(head + body, becomes: head + wanted)
  }

  @Test(arguments: ["2\r\n", "2 \r\n"])
  func `After a body with repaired chunks, the connection ends`(size: String) throws {
    var normalizer = ResponseNormalizer()
    normalizer.expectAnswer()
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for piece in [head + size, "ok\r\n0\r\n"] {
      _ = try bytes(piece).withUnsafeBytes { try normalizer.take($0) }
      #expect(!normalizer.hasEndedRepairedBody)
    }
    _ = try bytes("\r\n").withUnsafeBytes { try normalizer.take($0) }
    #expect(normalizer.hasEndedRepairedBody == (size == "2 \r\n"))
  }

  @Test(arguments: [
    "SSH-2.0-OpenSSH\r\n", "ICY 200 OK\r\n\r\n", "<html>", "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer Encoding: c\r\n\r\n", "HTTP/4 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent\u{1}Length: 5\r\n\r\n", "HTTP/1.1.1 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n", "HTTP/1.1 200 OK\r\r\nA: b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 6\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5 kB\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: ,\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\rhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nhello",
  ])
  func `What has no certain meaning is refused`(text: String) throws {
    for size in [Int.max, 3, 1] {
      let error = #expect(throws: TransferError.self) { try normalized(text, pieces: size) }
      #expect(error?.code == .protocolViolation)
    }
  }

  @Test(arguments: [(404, "\r\n", ""), (503, "\n", close), (200, "\r\n", ""), (301, "\r\n", "")])
  func `A refusal keeps its head if its chunks in the same piece are unreadable; a file does not`(
    status: Int, lineEnd: String, added: String
  ) throws {
    var normalizer = ResponseNormalizer()
    normalizer.expectAnswer()
    let lines = "HTTP/1.1 \(status) No\r\nTransfer-Encoding: chunked\r\n"
    let text = lines + lineEnd + "2;x\r\nokxyz\r\n"
    #expect(throws: TransferError.self) {
      try bytes(text).withUnsafeBytes { try normalizer.take($0) }
    }
    #expect(normalizer.refusal == (status >= 400 ? bytes(lines + added + "\r\n") : nil))
  }

  @Test func `A head that was passed on before is not repeated`() throws {
    var normalizer = ResponseNormalizer()
    normalizer.expectAnswer()
    let head = "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n"
    _ = try bytes(head).withUnsafeBytes { try normalizer.take($0) }
    #expect(throws: TransferError.self) {
      try bytes("xyz").withUnsafeBytes { try normalizer.take($0) }
    }
    #expect(normalizer.refusal == nil)
  }

  @Test func `Heads, extensions and trailers without end are refused`() throws {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let long = String(repeating: "x", count: 400_000)
    for text in [
      "HTTP/1.1 200 OK\r\nA: \(long)", "HTTP/1.1 200 OK\r\nA: \(long)\r\n\r\n",
      String(repeating: "\n", count: 400_000), chunked + "5;" + long, chunked + "0\r\n" + long,
      chunked + String(repeating: "0", count: 100),
    ] {
      #expect(throws: TransferError.self) { try normalized(text, pieces: 10_000) }
      #expect(throws: TransferError.self) { try normalized(text) }
    }
  }

  @Test func `Bytes before a request are passed on as they are`() throws {
    var normalizer = ResponseNormalizer()
    let greeting = try bytes("SSH-2.0\r\n").withUnsafeBytes { try normalizer.take($0) }
    #expect(greeting == nil)
  }
}
