import HaulCore
import NIOCore
import NIOHTTP1

/// Serves the requests of one connection, or the one request of an HTTP/2 stream, in order.
final class FaultConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = ByteBuffer

  private struct Incoming {
    var head: HTTPRequestHead
    var body: ByteBuffer
    /// Nil for a control request, and for a path that the script does not have.
    var accepted: FaultServerState.AcceptedRequest?
    /// What happens after so many bytes of its body.
    var upload: (after: Int64, then: Fault.UploadEnding)?
    var bodyBytes: Int64 = 0
    var isAnswered = false
  }

  /// The response being written.
  private struct Current {
    /// Nil for responses that are not recorded.
    var number: Int?
    var path: String
    var cursor: ResponseCursor
    var pacer: Pacer?
  }

  private enum Phase {
    case idle, writing, waiting, ending
  }

  /// Releases a held response. Its number is needed, because another may be held by then.
  struct Release: Sendable {
    var number: Int
  }

  /// Resets the connection at once.
  struct Drop: Sendable {}

  /// The transport of the answers.
  enum Wire {
    case http1
    /// A stream of the connection with that number.
    case http2(connection: Int)
  }

  private static let pieceSize = 64 * 1024
  private static let largestControlBody = 16 * 1024 * 1024

  private let state: FaultServerState
  private let now: @Sendable () -> Int64
  private let wire: Wire
  private var connection = 0
  private var incoming: Incoming?
  private var queue: [Incoming] = []
  private var current: Current?
  private var phase = Phase.idle
  private var isPumping = false
  private var unwritten = 0
  private var whenWritten: (() -> Void)?

  init(state: FaultServerState, wire: Wire, now: @escaping @Sendable () -> Int64) {
    self.state = state
    self.wire = wire
    self.now = now
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if case .http2(let number) = wire {
      connection = number
      return
    }
    connection = state.opened(context.channel)
    let (state, connection) = (state, connection)
    context.channel.closeFuture.whenComplete { _ in state.closed(connection: connection) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      var request = Incoming(head: head, body: context.channel.allocator.buffer(capacity: 0))
      if !head.uri.hasPrefix(FaultControl.prefix) { accept(&request) }
      incoming = request
      if case .http1 = wire, head.headers["expect"].contains("100-continue") {
        let bytes = context.channel.allocator.buffer(string: "HTTP/1.1 100 Continue\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
      }
      actOnUpload(context)
    case .body(let bytes):
      receive(bytes)
      actOnUpload(context)
    case .end:
      if let complete = incoming, !complete.isAnswered { queue.append(complete) }
      incoming = nil
      startNext(context)
    }
  }

  private func accept(_ request: inout Incoming) {
    let head = request.head
    request.accepted = state.begin(
      method: head.method.rawValue, target: head.uri,
      headers: HeaderFields(head.headers.map { ($0.name, $0.value) }), connection: connection,
      version: version)
    for case .upload(let after, let then) in request.accepted?.actions ?? [] {
      request.upload = (after, then)
    }
  }

  private func receive(_ bytes: ByteBuffer) {
    incoming?.bodyBytes += Int64(bytes.readableBytes)
    if let number = incoming?.accepted?.number {
      state.received(number, bytes.readableBytesView)
    } else if incoming?.body.readableBytes ?? 0 < Self.largestControlBody {
      incoming?.body.writeImmutableBuffer(bytes)
    }
  }

  /// Performs what the script says about the body of the request, once enough of it has arrived.
  private func actOnUpload(_ context: ChannelHandlerContext) {
    guard var request = incoming, let upload = request.upload, request.bodyBytes >= upload.after
    else { return }
    request.upload = nil
    switch upload.then {
    case .answer:
      queue.append(request)
      request.isAnswered = true
    case .stopReading: context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
    case .reset, .close:
      let (how, outcome): (Fault.Ending, RequestRecord.Outcome) =
        upload.then == .reset ? (.reset, .reset) : (.close, .closed)
      if let accepted = request.accepted {
        state.abandoned(accepted)
        state.ended(accepted.number, path: accepted.resource.path, outcome)
      }
      request.isAnswered = true
      phase = .ending
      end(how, context)
    }
    incoming = request
    startNext(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    pump(context)
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let release as Release:
      if phase == .waiting, current?.number == release.number { resume(context) }
    case is Drop:
      phase = .ending
      whenWritten = nil
      finish(.reset)
      end(.reset, context)
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .ending
    whenWritten = nil
    if let incoming, !incoming.isAnswered, let accepted = incoming.accepted {
      state.abandoned(accepted)
    }
    finish(.abandoned)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The client broke off or sent invalid data; channelInactive records which response that ended.
    context.close(promise: nil)
  }

  // MARK: One response after the other

  private func startNext(_ context: ChannelHandlerContext) {
    guard phase == .idle, !queue.isEmpty else { return }
    let request = queue.removeFirst()
    current = respond(to: request, context: context)
    phase = .writing
    pump(context)
  }

  private func respond(to request: Incoming, context: ChannelHandlerContext) -> Current {
    let head = request.head
    let allocator = context.channel.allocator
    if head.uri.hasPrefix(FaultControl.prefix) {
      let answer = FaultControl(state: state).answer(
        method: head.method.rawValue, target: head.uri, body: Array(request.body.readableBytesView))
      return Current(path: "", cursor: ResponseCursor(answer, allocator: allocator))
    }
    guard let taken = request.accepted else {
      let answer = FaultControl.simple(404, "no such resource\n", hasBody: head.method != .HEAD)
      return Current(path: "", cursor: ResponseCursor(answer, allocator: allocator))
    }
    // A request that a fault answers has no effect; one whose answer is only lost has.
    let serviceAnswer = taken.actions.contains(where: \.replacesAnswer) ? nil : state.serve(taken)
    var answer = ResponsePlanner(
      resource: taken.resource, actions: taken.actions, request: taken.facts, now: now(),
      port: context.channel.localAddress?.port ?? 0, keepsAlive: head.isKeepAlive,
      serviceAnswer: serviceAnswer
    ).answer()
    if case .http2 = wire { answer.dropChunks() }
    state.answered(taken.number, status: answer.status)
    return Current(
      number: taken.number, path: taken.resource.path,
      cursor: ResponseCursor(answer, allocator: allocator),
      pacer: answer.pace.map { Pacer($0, now: .now()) })
  }

  private func finish(_ outcome: RequestRecord.Outcome) {
    guard let ended = current else { return }
    current = nil
    guard let number = ended.number else { return }
    state.forgetHeld(number)
    state.ended(number, path: ended.path, outcome)
  }

  // MARK: Writing

  private func pump(_ context: ChannelHandlerContext) {
    guard !isPumping, phase == .writing else { return }
    isPumping = true
    while phase == .writing, context.channel.isWritable { step(context) }
    context.flush()
    isPumping = false
    guard phase == .writing, context.channel.isWritable else { return }
    // The socket took everything: let the other connections run first.
    context.eventLoop.assumeIsolated().execute { self.pump(context) }
  }

  private func step(_ context: ChannelHandlerContext) {
    guard var active = current else { return }
    var limit = Self.pieceSize
    if active.cursor.isInBody, var pacer = active.pacer {
      switch pacer.turn(.now()) {
      case .wait(let deadline):
        current?.pacer = pacer
        wait(context, until: deadline)
        return
      case .write(let count): limit = min(limit, count)
      }
      active.pacer = pacer
    }
    let output = active.cursor.next(limit: limit)
    if case .bytes(_, let body) = output { active.pacer?.wrote(body) }
    current = active
    switch output {
    case .bytes(let bytes, let body): write(bytes, bodyBytes: body, context)
    case .pause(let milliseconds): wait(context, until: .now() + .milliseconds(milliseconds))
    case .stop(let how): stop(how, context)
    case .finished: complete(context)
    }
  }

  private func write(_ bytes: ByteBuffer, bodyBytes: Int, _ context: ChannelHandlerContext) {
    unwritten += 1
    let number = current?.number
    let path = current?.path ?? ""
    context.write(wrapOutboundOut(bytes)).assumeIsolated().whenComplete { result in
      if case .success = result, let number, bodyBytes > 0 {
        self.state.sent(number, path: path, bodyBytes: bodyBytes)
      }
      self.unwritten -= 1
      if self.unwritten == 0, let action = self.whenWritten {
        self.whenWritten = nil
        action()
      }
    }
  }

  /// Runs `action` when every byte so far was handed to the socket.
  private func afterWriting(_ context: ChannelHandlerContext, _ action: @escaping () -> Void) {
    guard unwritten > 0 else { return action() }
    whenWritten = action
    context.flush()
  }

  private func wait(_ context: ChannelHandlerContext, until deadline: NIODeadline) {
    phase = .waiting
    context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      self.resume(context)
    }
  }

  private func resume(_ context: ChannelHandlerContext) {
    guard phase == .waiting else { return }
    phase = .writing
    pump(context)
  }

  private func stop(_ how: Fault.Ending, _ context: ChannelHandlerContext) {
    guard how != .stall else { return hold(context) }
    phase = .ending
    afterWriting(context) {
      self.finish(how == .reset ? .reset : .closed)
      self.end(how, context)
    }
  }

  private var version: RequestRecord.Version {
    if case .http2 = wire { .http2 } else { .http1 }
  }

  private func end(_ how: Fault.Ending, _ context: ChannelHandlerContext) {
    switch wire {
    case .http1: ConnectionClosing(context: context).end(how)
    case .http2: context.triggerUserOutboundEvent(HTTP2Stream.End(how: how), promise: nil)
    }
  }

  private func hold(_ context: ChannelHandlerContext) {
    phase = .waiting
    guard let active = current, let number = active.number else { return }
    let channel = context.channel
    afterWriting(context) {
      guard self.phase == .waiting else { return }
      self.state.hold(number, path: active.path) {
        channel.pipeline.fireUserInboundEventTriggered(Release(number: number))
      }
    }
  }

  private func complete(_ context: ChannelHandlerContext) {
    let ending = current?.cursor.ending
    phase = .ending
    afterWriting(context) {
      self.finish(.completed)
      switch (self.wire, ending) {
      case (_, .stall): break
      case (.http1, nil):
        self.phase = .idle
        self.startNext(context)
      case (_, let how): self.end(how ?? .close, context)
      }
    }
  }
}
