public import HaulCore

/// A request to a fault server, and the result of its response.
public struct RequestRecord: Hashable, Sendable {
  package enum Outcome: String, Codable, Hashable, Sendable {
    /// Every byte of the answer was handed to the socket.
    case completed
    /// The server ended it early, because of a fault.
    case reset, closed
    /// The client closed the connection, or the server was shut down, before the end.
    case abandoned
  }

  package enum Version: String, Codable, Hashable, Sendable {
    case http1 = "HTTP/1.1"
    case http2 = "HTTP/2"
  }

  /// The number of the request on this server, from 1.
  public let number: Int
  /// `GET`, `HEAD`, `PUT`, ….
  public let method: String
  /// The path without the query.
  public let path: String
  /// The target as sent.
  public let target: String
  /// All fields, in order, in their original spelling.
  public let headers: HeaderFields
  /// The number of the connection on this server, from 1; HTTP/2 streams of a connection share it.
  public let connection: Int
  /// The bytes of its body that the server has read.
  public internal(set) var bodyReceived: Int64 = 0
  /// Its body as far as it was read, at most 16 MiB.
  public internal(set) var body: [UInt8] = []
  package let version: Version
  /// The status of the answer; nil if it was raw bytes, or if the script has no such path.
  public internal(set) var status: Int?
  /// Body bytes that were handed to the socket, without framing.
  public internal(set) var bodyBytesSent: Int64 = 0
  /// Nil while the response is in progress.
  package internal(set) var outcome: Outcome?

  /// The first value of the field of that name.
  public func header(_ name: String) -> String? { headers[name] }

  /// Every field as `Name: value`, in order, to check that no secret was sent.
  package var headerLines: [String] { headers.fields.map { "\($0.name): \($0.value)" } }

  /// The value of `Range`.
  public var range: String? { headers["Range"] }
  /// The value of `If-Range`.
  public var ifRange: String? { headers["If-Range"] }
}
