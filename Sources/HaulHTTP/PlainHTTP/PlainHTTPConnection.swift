import AsyncHTTPClient
import HaulCore
import NIOCore
import NIOHTTP1

/// The part of a request that its connection calls, on the event loop of the connection.
protocol PlainHTTPExchange: AnyObject, Sendable {
  /// Whether an answer would still be accepted.
  var isWanted: Bool { get }
  /// How many times the usual time the head of its answer may take.
  var patience: Int { get }
  /// Sets how to stop the request from now on.
  func setStopHandler(_ stop: @escaping CallbackRequest.Stop)
  func markSent()
  func giveUpIfUnanswered()
  func received(_ head: HTTPResponseHead)
  /// What had arrived was read, and the answer is not whole.
  func waitShortly(on loop: any EventLoop)
  /// - Returns: a future that completes when more is wanted; nil if it is wanted already.
  func received(_ bytes: ByteBuffer, on loop: any EventLoop) -> EventLoopFuture<Void>?
  func ended()
  func failed(_ error: any Error)
}

/// One connection to an origin, for one request at a time. Lives on its event loop.
final class PlainHTTPConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let client: PlainHTTPClient
  private let origin: ResourceURL.Origin
  private var context: ChannelHandlerContext?
  /// The request that is being answered.
  private var request: (any PlainHTTPExchange)?
  /// Whether the connection can be reused after the answer.
  private var isReusable = false
  private var waitsForReader = false
  /// Whether the header of the answer has just arrived.
  private var awaitsBody = false
  private var isSending = false
  /// The deadline for the header of the answer. One timer serves all requests of the connection.
  private var headDeadline = NIODeadline.now()
  private var headTimer: Scheduled<Void>?

  init(of client: PlainHTTPClient, to origin: ResourceURL.Origin) {
    self.client = client
    self.origin = origin
  }

  /// Sends a request.
  /// - Parameter body: as many bytes as the head says.
  func send(_ head: HTTPRequestHead, _ body: ByteBuffer?, for request: any PlainHTTPExchange) {
    guard let context, context.channel.isActive else {
      return request.failed(ChannelError.ioOnClosedChannel)
    }
    guard request.isWanted else {
      client.keep(self, context.channel, to: origin)
      return request.failed(CancellationError())
    }
    self.request = request
    isReusable = head.isKeepAlive
    isSending = true
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    isSending = false
    // The header was refused, and the request has ended.
    guard self.request != nil else { return }
    if let body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    request.markSent()
    headDeadline = .now() + client.headTimeout * request.patience
    if headTimer == nil { watchHead(on: context.eventLoop) }
  }

  private func watchHead(on loop: any EventLoop) {
    headTimer = loop.assumeIsolated().scheduleTask(deadline: headDeadline) { [self] in
      headTimer = nil
      guard let request else { return }
      if headDeadline <= .now() { request.giveUpIfUnanswered() } else { watchHead(on: loop) }
    }
  }

  /// Why the header of a request was refused.
  private static let invalidField = TransferError(
    .protocolViolation, "the request could not be sent: a header field has a forbidden character")

  /// Ends the request and, unless the answer is complete, the connection.
  func stop(_ request: any PlainHTTPExchange, _ error: any Error) {
    guard self.request === request else { return }
    end(with: error)
    context?.close(promise: nil)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelActive(context: ChannelHandlerContext) {
    context.read()
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // An answer without a request.
    guard let request else { return context.close(promise: nil) }
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard head.status.code >= 100 else { return fail(StatusCheckHandler.error, context) }
      // `isKeepAlive` is false for a body that ends with its connection. After a 101 it is no
      // longer HTTP.
      isReusable = isReusable && head.isKeepAlive && head.status != .switchingProtocols
      request.received(head)
      awaitsBody = true
    case .body(let bytes):
      guard let demand = request.received(bytes, on: context.eventLoop) else { return }
      wait(for: demand, of: request)
    case .end:
      self.request = nil
      waitsForReader = false
      if isReusable {
        client.keep(self, context.channel, to: origin)
      } else {
        context.close(promise: nil)
      }
      request.ended()
    }
  }

  /// Stops reading until the reader of the body has taken what arrived.
  private func wait(for demand: EventLoopFuture<Void>, of request: any PlainHTTPExchange) {
    guard !waitsForReader else { return }
    waitsForReader = true
    // If the reader releases the body, the connection is closed instead.
    demand.assumeIsolated().whenSuccess { [self] in
      guard self.request === request else { return }
      waitsForReader = false
      context?.read()
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if awaitsBody { request?.waitShortly(on: context.eventLoop) }
    awaitsBody = false
    if !waitsForReader { context.read() }
    context.fireChannelReadComplete()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    fail(isSending ? Self.invalidField : error, context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    headTimer?.cancel()
    end(with: HTTPClientError.remoteConnectionClosed)
    context.fireChannelInactive()
  }

  /// Also called for a channel that was never connected.
  func channelUnregistered(context: ChannelHandlerContext) {
    client.forget(context.channel)
    context.fireChannelUnregistered()
  }

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    end(with: error)
    context.close(promise: nil)
  }

  private func end(with error: any Error) {
    let request = request
    self.request = nil
    request?.failed(error)
  }
}
