import AsyncHTTPClient
import NIOCore
import NIOHTTP2

/// Whether a failed request may be sent again at once, without counting an attempt, because the
/// server has not processed it.
enum UnprocessedRetry {
  case none
  case again
  /// Again, over HTTP/1.1.
  case overHTTP1
  /// Again over HTTP/1.1, like all later requests to that origin.
  case neverHTTP2

  init(after error: any Error, overHTTP2: Bool) {
    switch error {
    case is ReusedConnectionEnded: self = .again
    // The connection was closed before a byte of the request was written.
    case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: self = .again
    case let error as NIOHTTP2Errors.StreamClosed: self.init(code: error.errorCode)
    case is NIOHTTP2Errors.CreatedStreamAfterGoaway: self = .again
    // The server violates HTTP/2, for example by a forbidden push.
    case is any NIOHTTP2Error where overHTTP2: self = .neverHTTP2
    case let error as HTTPClientError where overHTTP2: self.init(client: error)
    default: self = .none
    }
  }

  /// RFC 9113, sections 7 and 8.7.
  private init(code: HTTP2ErrorCode) {
    switch code {
    case .refusedStream: self = .again
    case .http11Required, .inadequateSecurity: self = .neverHTTP2
    default: self = .none
    }
  }

  private init(client error: HTTPClientError) {
    switch error {
    // The connection was already closing when the request reached it.
    case .cancelled: self = .again
    // The server allows no more streams.
    case .getConnectionFromPoolTimeout: self = .overHTTP1
    default: self = .none
    }
  }

  /// Limits such retries for a server that never processes anything.
  struct Count {
    /// More than the number of connections kept for one host.
    private var left = 16
    /// After so many over HTTP/2, HTTP/1.1 is tried.
    private var leftOverHTTP2 = 4

    mutating func take(_ chance: UnprocessedRetry, overHTTP2: Bool) -> UnprocessedRetry {
      guard left > 0 else { return .none }
      left -= 1
      guard chance == .again, overHTTP2 else { return chance }
      leftOverHTTP2 -= 1
      return leftOverHTTP2 > 0 ? .again : .overHTTP1
    }
  }
}
