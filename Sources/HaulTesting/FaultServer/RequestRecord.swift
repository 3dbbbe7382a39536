public import HaulCore

/// What a fault server got in one request and what became of the response.
public struct RequestRecord: Hashable, Sendable {
  package enum Outcome: String, Codable, Hashable, Sendable {
    /// Every byte of the answer was handed to the socket.
    case completed
    /// The server ended it early, as a fault told it to.
    case reset, closed
    /// The client went away, or the server was shut down, before the end.
    case abandoned
  }

  package enum Version: String, Codable, Hashable, Sendable {
    case http1 = "HTTP/1.1"
    case http2 = "HTTP/2"
  }

  /// Number of the request on this server, from 1.
  public let number: Int
  /// `GET` or `HEAD`.
  public let method: String
  /// Without the query.
  public let path: String
  /// As on the wire.
  public let target: String
  /// All fields, in order, with their own spelling.
  public let headers: HeaderFields
  /// Number of the connection on this server, from 1; streams of HTTP/2 share theirs.
  public let connection: Int
  package let bodyReceived: Int64
  package let version: Version
  /// Status of the answer; nil when it was raw bytes or the path is unknown to the script.
  public internal(set) var status: Int?
  /// Body bytes handed to the socket, without the framing.
  public internal(set) var bodyBytesSent: Int64 = 0
  /// Nil while the response is in progress.
  package internal(set) var outcome: Outcome?

  /// The first value of the field of that name.
  public func header(_ name: String) -> String? { headers[name] }

  /// Every field as `Name: value`, in order: for searches that no secret was sent.
  package var headerLines: [String] { headers.fields.map { "\($0.name): \($0.value)" } }

  /// The value of `Range`.
  public var range: String? { headers["Range"] }
  /// The value of `If-Range`.
  public var ifRange: String? { headers["If-Range"] }
}
