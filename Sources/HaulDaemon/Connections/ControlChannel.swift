import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// HTTP/1.1, perhaps on TLS with the certificate that there is when a connection begins.
struct ControlChannel: ServerChildChannel {
  typealias Value = HTTP1Channel.Value

  let base: HTTP1Channel
  /// Nil without TLS.
  let certificate: ServerCertificate?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      guard let certificate else { return }
      try channel.pipeline.syncOperations.addHandler(
        NIOSSLServerHandler(context: certificate.context))
    }.flatMap { base.setup(channel: channel, logger: logger) }
      .flatMapThrowing { value in
        try RequestHostHandler.add(to: channel.pipeline.syncOperations)
        return value
      }
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
    HTTPServerBuilder { responder in
      ControlChannel(
        base: HTTP1Channel(responder: responder, configuration: configuration),
        certificate: certificate)
    }
  }
}
