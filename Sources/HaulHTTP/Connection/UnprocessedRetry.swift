import AsyncHTTPClient
import NIOCore
import NIOHTTP2

/// Whether a request that failed may be sent again at once, without an attempt being counted: the
/// server has not looked at it.
enum UnprocessedRetry {
  case none
  case again
  /// Over HTTP/1.1 this time.
  case overHTTP1
  /// Over HTTP/1.1, and so is every further one of that origin.
  case neverHTTP2

  init(after error: any Error, overHTTP2: Bool) {
    switch error {
    case is KeptConnectionEnded: self = .again
    // It was closed before a byte of the request was written.
    case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: self = .again
    case let error as NIOHTTP2Errors.StreamClosed: self.init(code: error.errorCode)
    case is NIOHTTP2Errors.CreatedStreamAfterGoaway: self = .again
    // A server that speaks it wrong, or pushes what was forbidden.
    case is any NIOHTTP2Error where overHTTP2: self = .neverHTTP2
    case let error as HTTPClientError where overHTTP2: self.init(client: error)
    default: self = .none
    }
  }

  /// RFC 9113, section 7 and 8.7.
  private init(code: HTTP2ErrorCode) {
    switch code {
    case .refusedStream: self = .again
    case .http11Required, .inadequateSecurity: self = .neverHTTP2
    default: self = .none
    }
  }

  private init(client error: HTTPClientError) {
    switch error {
    // The connection had begun to close when the request came to it.
    case .cancelled: self = .again
    // As many streams as the server allows are open.
    case .getConnectionFromPoolTimeout: self = .overHTTP1
    default: self = .none
    }
  }

  /// Keeps a server that never looks at anything from being asked for ever.
  struct Count {
    /// More than the connections that one host is kept waiting with.
    private var left = 16

    mutating func take(_ chance: UnprocessedRetry) -> UnprocessedRetry {
      guard left > 0 else { return .none }
      left -= 1
      return chance
    }
  }
}
