import AsyncHTTPClient
import HaulCore
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

extension TransferError {
  /// The only place that maps the client's errors to Haul's codes. `origin` is the requested one.
  init(mapping error: any Error, from origin: ResourceURL.Origin, via route: Route = .direct) {
    if let proxy = route.proxy, let error = TransferError(of: proxy, mapping: error) {
      self = error
      return
    }
    if route.isTunnel, let proxy = route.proxy, Self.isEndOfHandshake(error) {
      self.init(closedTunnel: proxy)
      return
    }
    switch error {
    case let error as TransferError: self = error
    case let error as HTTPClientError: self.init(client: error)
    case let error as NIOConnectionError: self.init(connection: error)
    case let error as NIOSSLError: self.init(tls: error)
    case is NIOSSLExtraError:
      self.init(.tls, "the certificate is not for this host", advice: "check the address")
    case let error as BoringSSLError: self.init(alert: error)
    case let error as HTTPParserError: self.init(parser: error)
    case is NIOHTTPDecoderError:
      self.init(.connectionLost, "the server sent an answer without a request", isRetryable: true)
    case ChannelError.connectTimeout:
      self.init(
        .timeout, "no connection in time", advice: "is the server running?", isRetryable: true)
    case let error as NIOHTTP2Errors.StreamClosed where error.errorCode != .http11Required:
      self.init(
        .connectionLost, "the server ended the stream (\(error.errorCode))", isRetryable: true)
    case is any NIOHTTP2Error:
      self = TransferError(
        .connectionLost, "the transfer over HTTP/2 failed", advice: "HTTP/1.1 may work",
        isRetryable: true
      ).remedied(by: .olderHTTP)
    case is ReusedConnectionEnded:
      self.init(
        .connectionLost, "the server closed the connection without an answer", isRetryable: true)
    case is ChannelError:
      self.init(.connectionLost, "the connection was closed", isRetryable: true)
    case let error as IOError: self.init(io: error, from: origin)
    case _ where Self.isEndOfHandshake(error):
      self.init(
        .connectionLost, "the server closed the connection during the TLS handshake",
        isRetryable: true)
    default:
      self.init(.connectionLost, "the connection failed (\(type(of: error)))", isRetryable: true)
    }
  }

  /// Whether the connection was closed during a handshake: the client's type for it is private.
  private static func isEndOfHandshake(_ error: any Error) -> Bool {
    if case ChannelError.eof = error { return true }
    if case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])) = error { return true }
    return "\(type(of: error))" == "NoResult"
  }

  private init(client error: HTTPClientError) {
    switch error {
    case .deadlineExceeded:
      self = TransferError(
        .timeout, "no answer in time", advice: "try again later, or allow more time",
        isRetryable: true
      ).remedied(by: .longerTimeout)
    case .connectTimeout, .getConnectionFromPoolTimeout:
      self.init(
        .timeout, "no connection in time", advice: "is the server running?", isRetryable: true)
    case .tlsHandshakeTimeout:
      self.init(.tls, "the TLS handshake did not end in time", isRetryable: true)
    case .readTimeout, .writeTimeout:
      self.init(.stalled, "the connection was idle for too long", isRetryable: true)
    case .remoteConnectionClosed, .uncleanShutdown:
      self.init(.connectionLost, "the server closed the connection early", isRetryable: true)
    case .cancelled, .requestStreamCancelled:
      self.init(.interrupted, "the request was cancelled", isRetryable: true)
    default:
      self.init(.protocolViolation, "the request could not be sent: \(error.shortDescription)")
    }
  }

  private init(connection error: NIOConnectionError) {
    let endpoint = "\(error.host):\(error.port)"
    // The failure of an address of an excluded family, or of one that this machine has no route to
    // (`::1` without IPv6), is not about the server.
    let failures = error.connectionErrors
    let ofOurFamily = failures.filter { !(($0.error as? IOError)?.isOfOtherFamily ?? false) }
    let ofServer = ofOurFamily.first { ($0.error as? IOError)?.errnoCode != EADDRNOTAVAIL }
    guard let first = ofServer ?? ofOurFamily.first ?? failures.first else {
      self = TransferError(
        .dns, "the host \(error.host) is unknown", advice: "check the name and the network",
        isRetryable: true
      ).with(.noRoute)
      return
    }
    let address = first.target.ipAddress.map { "\($0):\(error.port)" } ?? endpoint
    if let io = first.error as? IOError, io.isOfOtherFamily || io.errnoCode == EADDRNOTAVAIL {
      self.init(localAddress: io)
    } else if let io = first.error as? IOError, io.errnoCode == ECONNREFUSED {
      self.init(
        .connect, "connection refused by \(address)", advice: "is the server running?",
        isRetryable: true)
    } else if case ChannelError.connectTimeout = first.error {
      self.init(
        .timeout, "no connection to \(address) in time", advice: "is the server running?",
        isRetryable: true)
    } else {
      let hasNoRoute = failures.contains { ($0.error as? IOError)?.hasNoRoute ?? false }
      self = TransferError(
        .connect, "no connection to \(address)", advice: "check the network", isRetryable: true
      ).with(hasNoRoute ? .noRoute : nil)
    }
  }

  private init(tls error: NIOSSLError) {
    switch error {
    case .uncleanShutdown:
      self.init(
        .connectionLost, "the TLS connection ended without close_notify", isRetryable: true)
    case .handshakeFailed(let cause):
      let text = "\(cause)"
      self = text.hasBytes("CERTIFICATE_VERIFY_FAILED") ? .untrusted : Self.handshake(text)
    case .unableToValidateCertificate:
      self = .untrusted
    default: self.init(.tls, "the TLS connection failed")
    }
  }

  /// - Parameter text: of the TLS library, with the alert of the server if there was one.
  private static func handshake(_ text: String) -> TransferError {
    if text.hasBytes("PROTOCOL_VERSION") || text.hasBytes("UNSUPPORTED_PROTOCOL") {
      return TransferError(.tls, "the server speaks only older versions of TLS than are allowed")
    }
    if text.hasBytes("WRONG_VERSION_NUMBER") || text.hasBytes("HTTP_REQUEST") {
      return TransferError(.tls, "the server does not speak TLS there", advice: "is it http://?")
    }
    if text.hasBytes("UNRECOGNIZED_NAME") {
      return TransferError(
        .tls, "the server has no certificate for this host", advice: "check the address")
    }
    if text.hasBytes("NO_APPLICATION_PROTOCOL") {
      return TransferError(.tls, "the server does not speak HTTP/1.1", advice: "HTTP/2 may work")
        .remedied(by: .newerHTTP)
    }
    // With TLS 1.2 a missing client certificate has no alert of its own (RFC 5246, section 7.4.6),
    // and the library does not say whether the server asked for one.
    if isRefusal(text) {
      return TransferError(
        .tls, "the server refused the TLS handshake",
        advice: "perhaps it has no TLS version or cipher in common with haul, or requires a client "
          + "certificate"
      ).remedied(by: .clientCertificate)
    }
    return isAboutClientCertificate(text)
      ? clientCertificate
      : TransferError(.tls, "the TLS handshake failed", advice: "is that an https server?")
  }

  private static func isRefusal(_ text: String) -> Bool { text.hasBytes("ALERT_HANDSHAKE_FAILURE") }

  private static func isAboutClientCertificate(_ text: String) -> Bool {
    text.hasBytes("ALERT")
      && ["CERT", "UNKNOWN_CA", "ACCESS_DENIED"].contains(where: text.hasBytes)
  }

  private static let clientCertificate = TransferError(
    .tls, "the server rejected the client certificate, or requires one"
  ).remedied(by: .clientCertificate)

  private static let untrusted = TransferError(
    .tls, "the server's certificate is not trusted",
    advice: "an intermediate certificate may be missing or expired; is its authority known?"
  ).remedied(by: .certificateAuthority)

  /// With TLS 1.3 a server refuses a client certificate after the handshake (RFC 8446, section
  /// 4.4.2.4).
  private init(alert error: BoringSSLError) {
    let text = "\(error)"
    if Self.isAboutClientCertificate(text) {
      self = .clientCertificate
      // A chain whose issuer has the same name and another key fails to decrypt.
    } else if Self.isRefusal(text) || text.hasBytes("ALERT_DECRYPT_ERROR") {
      self = TransferError(
        .connectionLost, "the TLS connection broke",
        advice: "does the server require a client certificate?", isRetryable: true
      ).remedied(by: .clientCertificate)
    } else {
      self.init(.connectionLost, "the TLS connection broke", isRetryable: true)
    }
  }

  private init(parser error: HTTPParserError) {
    if case .invalidEOFState = error {
      self.init(
        .connectionLost, "the connection ended in the middle of the answer", isRetryable: true)
    } else {
      let reason = Self.reason(error).map { ": \($0)" } ?? ""
      self.init(.protocolViolation, "the answer is not valid HTTP\(reason)")
    }
  }

  private static func reason(_ error: HTTPParserError) -> String? {
    switch error {
    case .headerOverflow: "its header has more than 5000 fields, or one above 80 KiB"
    case .invalidHeaderToken: "a header field has a forbidden character"
    case .invalidContentLength, .unexpectedContentLength: "its Content-Length cannot be read"
    case .invalidChunkSize: "the size of a chunk cannot be read"
    case .invalidVersion: "its version is not 1.0 or 1.1"
    case .invalidStatus, .invalidConstant: "its first line is not a status line"
    case .closedConnection: "more bytes came after its end"
    default: nil
    }
  }

  private init(io error: IOError, from origin: ResourceURL.Origin) {
    let endpoint = "\(origin.host):\(origin.port)"
    switch error.errnoCode {
    case ECONNREFUSED:
      self.init(
        .connect, "connection refused by \(endpoint)", advice: "is the server running?",
        isRetryable: true)
    case ENETUNREACH, EHOSTUNREACH:
      self = TransferError(
        .connect, "no route to \(endpoint)", advice: "check the network", isRetryable: true
      ).with(.noRoute)
    case EAFNOSUPPORT, EINVAL, EADDRNOTAVAIL: self.init(localAddress: error)
    case ETIMEDOUT: self.init(.timeout, "the connection timed out", isRetryable: true)
    case ECONNRESET, EPIPE:
      self.init(.connectionLost, "the server reset the connection", isRetryable: true)
    default:
      self.init(
        .connectionLost, "the connection failed: \(SystemError.text(error.errnoCode))",
        isRetryable: true)
    }
  }

  /// The error when a connection could not be bound to the local address.
  private init(localAddress error: IOError) {
    if error.isOfOtherFamily {
      self = TransferError(.connect, "the host has no address of the requested family")
        .remedied(by: .addressFamily)
    } else {
      self = TransferError(
        .connect,
        "the local address is not one of this machine, or has no route to the host"
      ).remedied(by: .localAddress)
    }
  }
}

extension IOError {
  /// Whether a socket was bound to one address family and connected to the other.
  fileprivate var isOfOtherFamily: Bool { errnoCode == EAFNOSUPPORT || errnoCode == EINVAL }

  /// Whether there is no route to the address.
  fileprivate var hasNoRoute: Bool {
    [ENETUNREACH, EHOSTUNREACH, ENETDOWN].contains(errnoCode)
  }
}
