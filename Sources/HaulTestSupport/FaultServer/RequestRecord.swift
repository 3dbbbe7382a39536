package import HaulCore

/// What a fault server got in one request and what became of the response.
package struct RequestRecord: Hashable, Sendable {
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
  package let number: Int
  package let method: String
  /// Without the query.
  package let path: String
  /// As on the wire.
  package let target: String
  /// All fields, in order, with their own spelling.
  package let headers: HeaderFields
  /// Number of the connection on this server, from 1; streams of HTTP/2 share theirs.
  package let connection: Int
  package let bodyReceived: Int64
  package let version: Version
  /// Status of the answer; nil when it was raw bytes or the path is unknown to the script.
  package internal(set) var status: Int?
  /// Body bytes handed to the socket, without the framing.
  package internal(set) var bodyBytesSent: Int64 = 0
  /// Nil while the response is in progress.
  package internal(set) var outcome: Outcome?

  /// The first value of the field of that name.
  package func header(_ name: String) -> String? { headers[name] }

  /// Every field as `Name: value`, in order: for searches that no secret was sent.
  package var headerLines: [String] { headers.fields.map { "\($0.name): \($0.value)" } }

  /// The value of `Range`.
  package var range: String? { headers["Range"] }
  /// The value of `If-Range`.
  package var ifRange: String? { headers["If-Range"] }
}
