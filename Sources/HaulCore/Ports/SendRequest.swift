/// One request with a method and perhaps a body.
public struct SendRequest: Sendable {
  /// The bytes of a body, in order. A failure to read them ends the request with that error.
  public typealias Body = any AsyncSequence<any ByteChunk, any Error> & Sendable

  /// `PUT`, `POST`, `HEAD`, ….
  public var method: String
  /// The requested address. Its `text` has the user information, which `headersToSend` sends as
  /// `Authorization`, and no fragment. Print only its description.
  public var url: ResourceURL
  /// The caller's own fields. Send `headersToSend`.
  public var headers: HeaderFields
  /// The body; nil for none.
  public var body: Body?
  /// The length of the body in bytes, 0 if there is none; nil if it is not known. Then the
  /// transport sends the body in chunks (RFC 9112, section 7.1), and never ends a body that fails
  /// as if it were whole.
  public var length: Int64?
  /// Whether the server's certificate is not checked.
  public var allowInsecure: Bool
  /// The origin whose server chose the address, which may be its own; nil for the caller's address.
  package var namedBy: ResourceURL.Origin?
  /// As in a `FetchRequest`.
  package var session: TransferID?
  /// As in a `FetchRequest`.
  package var isOfClient = false
  /// As in a `FetchRequest`.
  package var isDirect = false
  /// Whether the answer means nothing without its body. The body of any other is waited for only
  /// for seconds: its status has decided.
  package var needsBody = true

  /// A request. Managers create them, and tests of a transport.
  public init(
    _ method: String, _ url: ResourceURL, headers: HeaderFields = HeaderFields(),
    body: Body? = nil, length: Int64? = 0, allowInsecure: Bool = false
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.length = length
    self.allowInsecure = allowInsecure
  }

  /// All fields that a transport must send: the caller's, and `Authorization` of the address. The
  /// transport adds `Host`, `User-Agent` if there is none, and `Content-Length` or
  /// `Transfer-Encoding`.
  public var headersToSend: HeaderFields {
    FetchRequest(url: url, headers: headers).headersToSend
  }
}

/// A body that is in memory: a transport may send it without reading it as a sequence.
package protocol HeldBody: Sendable {
  var bytes: [UInt8] { get }
  /// The connection takes the bytes, perhaps again.
  func wasTaken()
}

/// The answer to a `SendRequest`.
public struct SendResponse: Sendable {
  /// Status and header fields.
  public let head: ResponseHead
  /// The first bytes of its body, at most 1 MiB.
  public let body: [UInt8]
  /// Whether these are all of them.
  public let isWhole: Bool

  /// An answer.
  public init(head: ResponseHead, body: [UInt8] = [], isWhole: Bool = true) {
    self.head = head
    self.body = body
    self.isWhole = isWhole
  }
}
