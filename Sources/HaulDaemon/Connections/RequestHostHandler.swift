import HaulControl
import HaulCore
package import NIOCore
package import NIOHTTP1

/// Takes `Host` from a request that does not name one host (RFC 9112, section 3.2): with two
/// fields, or an absolute address of another host, a proxy may have meant another one than this
/// daemon. `OriginCheck` refuses what has no `Host`.
///
/// The types of the routes no longer have these differences.
package final class RequestHostHandler: ChannelInboundHandler {
  package typealias InboundIn = HTTPServerRequestPart
  package typealias InboundOut = HTTPServerRequestPart

  package init() {}

  /// Adds it behind the parser.
  static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
    let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    try pipeline.addHandler(RequestHostHandler(), position: .after(parser))
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data), !Self.namesOneHost(head) else {
      return context.fireChannelRead(data)
    }
    head.headers.remove(name: "Host")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  private static func namesOneHost(_ head: HTTPRequestHead) -> Bool {
    let hosts = head.headers["Host"]
    guard hosts.count == 1 else { return false }
    // The usual form, and that of OPTIONS for the whole server.
    if head.uri.hasBytePrefix("/") || head.uri.isByteEqual("*") { return true }
    for (scheme, port) in [("http://", 80), ("https://", 443)] {
      guard let rest = head.uri.dropping(bytePrefix: scheme) else { continue }
      guard let target = HostName(String(rest.prefix(beforeAnyOf: "/?#"))),
        let host = HostName(hosts[0])
      else { return false }
      return target.host == host.host && (target.port ?? port) == (host.port ?? port)
    }
    return false
  }
}
