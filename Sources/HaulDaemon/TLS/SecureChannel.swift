import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// HTTP/1.1 on TLS, with the certificate that there is when a connection begins.
struct SecureChannel: ServerChildChannel {
  typealias Value = HTTP1Channel.Value

  let base: HTTP1Channel
  let certificate: ServerCertificate

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(
        NIOSSLServerHandler(context: certificate.context))
    }.flatMap { base.setup(channel: channel, logger: logger) }
  }

  func handle(value: Value, logger: Logger) async {
    await base.handle(value: value, logger: logger)
  }
}

extension HTTPServerBuilder {
  /// - Parameter certificate: nil without TLS.
  static func http1(
    _ configuration: HTTP1Channel.Configuration, _ certificate: ServerCertificate?
  ) -> HTTPServerBuilder {
    guard let certificate else { return .http1(configuration: configuration) }
    return HTTPServerBuilder { responder in
      SecureChannel(
        base: HTTP1Channel(responder: responder, configuration: configuration),
        certificate: certificate)
    }
  }
}
