import HaulLibC
import NIOCore
import NIOPosix

/// A client's connection and its connection to the server.
final class RelayConnection {
  private let number: Int
  private let hub: RelayHub
  private let client: any Channel
  private let began = NIODeadline.now()
  private var server: (any Channel)?
  private var up: RelayPipe?
  private var down: RelayPipe?
  /// What the client sent before there was a pipe: at its end, a channel reads without a request.
  private var early: (bytes: [ByteBuffer], hasEnded: Bool) = ([], false)
  private var ends = 0
  private var isClosed = false

  init(number: Int, client: any Channel, hub: RelayHub) {
    self.number = number
    self.client = client
    self.hub = hub
  }

  /// Connects to the server; reads from the client only after that.
  func open() {
    ClientBootstrap(group: client.eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.recvAllocator, value: Relay.allocator)
      .channelOption(.maxMessagesPerRead, value: 1)
      .connect(host: hub.host, port: hub.port).assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel): self.connected(channel)
        case .failure: self.close(resetting: true)
        }
      }
  }

  private func connected(_ channel: any Channel) {
    guard !isClosed else { return channel.close(promise: nil) }
    server = channel
    let rules = hub.rules
    let delay = TimeAmount(rules.roundTrip / 2)
    let up = RelayPipe(
      number: number, from: client, to: channel,
      flow: RelayFlow(window: rules.window, rate: nil, start: began + TimeAmount(rules.roundTrip)),
      randomResets: nil, share: nil, delay: delay, reports: reports { _ in })
    let down = RelayPipe(
      number: number, from: channel, to: client,
      flow: RelayFlow(
        window: rules.window, rate: rules.rate(ofConnection: number), start: began),
      randomResets: rules.resetProbability > 0 ? RandomResets(rules, connection: number) : nil,
      share: hub.share, delay: delay, reports: reports(onBytes: hub.delivered))
    self.up = up
    self.down = down
    do {
      try channel.pipeline.syncOperations.addHandler(RelayHandler(self, side: .server))
    } catch {
      return close(resetting: true)
    }
    early.bytes.forEach(up.receive)
    early.bytes = []
    early.hasEnded ? up.receiveEnd() : up.readMore()
    down.readMore()
  }

  fileprivate func receive(_ bytes: ByteBuffer, from side: RelayHandler.Side) {
    guard !isClosed else { return }
    if let pipe = pipe(from: side) { pipe.receive(bytes) } else { early.bytes.append(bytes) }
  }

  fileprivate func receiveEnd(from side: RelayHandler.Side) {
    if let pipe = pipe(from: side) { pipe.receiveEnd() } else { early.hasEnded = true }
  }

  private func reports(onBytes: @escaping (Int) -> Void) -> RelayPipe.Reports {
    .init(
      onBytes: onBytes,
      onReset: { [weak self] in self?.reset() },
      onFailure: { [weak self] in self?.close(resetting: true) },
      onEnd: { [weak self] in self?.ended() })
  }

  private func ended() {
    ends += 1
    if ends == 2 { close(resetting: false) }
  }

  private func reset() {
    guard !isClosed else { return }
    hub.didReset()
    close(resetting: true)
  }

  /// Handles the closed channel of one side. It is a normal end if that side had ended, or if it
  /// had received the other's end. Then bytes in transit are still delivered.
  fileprivate func gone(_ side: RelayHandler.Side) {
    guard !isClosed, pipe(from: side)?.sourceHasEnded != true else { return }
    if pipe(to: side)?.hasEnded == true {
      receiveEnd(from: side)
    } else {
      close(resetting: true)
    }
  }

  /// Ends both sides; with a reset if one side was reset, or if bytes are missing.
  func close(resetting: Bool) {
    guard !isClosed else { return }
    isClosed = true
    up?.stop()
    down?.stop()
    for channel in [client, server].compactMap(\.self) {
      if resetting { Self.lingerZero(channel) }
      channel.close(promise: nil)
    }
    up = nil
    down = nil
    server = nil
    early.bytes = []
  }

  private static func lingerZero(_ channel: any Channel) {
    guard let socket = channel as? any SocketOptionProvider else { return }
    // Has no effect on a closed channel.
    socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenFailure { _ in }
  }

  fileprivate func pipe(from side: RelayHandler.Side) -> RelayPipe? { side == .client ? up : down }
  private func pipe(to side: RelayHandler.Side) -> RelayPipe? { side == .client ? down : up }
}

/// Reports bytes, end and failure of one side's channel.
final class RelayHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  enum Side { case client, server }

  private let connection: RelayConnection
  private let side: Side

  init(_ connection: RelayConnection, side: Side) {
    self.connection = connection
    self.side = side
  }

  func channelActive(context: ChannelHandlerContext) {
    if side == .client { connection.open() }
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    connection.receive(unwrapInboundIn(data), from: side)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    connection.pipe(from: side)?.readMore()
    context.fireChannelReadComplete()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent {
      connection.receiveEnd(from: side)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    connection.gone(side)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    connection.close(resetting: true)
  }
}
