import HaulCore
import NIOCore
import NIOHTTP1

/// Sends a proxy the whole address, which matches `Host` (RFC 9112, section 3.2.2).
final class AbsoluteFormHandler: ChannelOutboundHandler, Sendable {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  private let proxy: ProxyRules.Proxy

  init(_ proxy: ProxyRules.Proxy) { self.proxy = proxy }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head(var head) = unwrapOutboundIn(data) else {
      return context.write(data, promise: promise)
    }
    head.uri = "http://\(head.headers.first(name: "host") ?? "")\(head.uri)"
    // The answer to a challenge is there already.
    if let credentials = proxy.credentials, !head.headers.contains(name: "Proxy-Authorization") {
      head.headers.add(name: "Proxy-Authorization", value: credentials.basic)
    }
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }
}
