import FoundationEssentials
import NIOCore
import NIOPosix

/// One connection of a proxy: reads the request, connects, then passes bytes both ways.
final class ProxyConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase { case head, greeting, password, request, connecting, open }

  private let kind: ProxyServer.Kind
  private let rules: ProxyServer.Rules
  private let note: @Sendable (ProxyServer.Request) -> Void
  private var phase: Phase
  private var received: [UInt8] = []
  private var peer: (any Channel)?

  init(
    _ kind: ProxyServer.Kind, _ rules: ProxyServer.Rules,
    note: @escaping @Sendable (ProxyServer.Request) -> Void
  ) {
    self.kind = kind
    self.rules = rules
    self.note = note
    phase = kind == .http ? .head : .greeting
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    if phase == .open, isTunnel, let alert = rules.alert {
      return send([0x15, 3, 3, 0, 2, 2, alert], context)
    }
    if phase == .open, peer != nil, received.isEmpty, kind == .socks5 || isTunnel {
      peer?.writeAndFlush(bytes, promise: nil)
      return
    }
    received += bytes.readableBytesView
    step(context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    peer?.close(promise: nil)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private var isTunnel = false

  private func step(_ context: ChannelHandlerContext) {
    switch phase {
    case .head, .open: takeHead(context)
    case .greeting: takeGreeting(context)
    case .password: takePassword(context)
    case .request: takeRequest(context)
    case .connecting: break
    }
  }

  private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    context.writeAndFlush(
      wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
  }

  // MARK: HTTP

  private func takeHead(_ context: ChannelHandlerContext) {
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
    let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self)
      .split(separator: "\r\n").map(String.init)
    received.removeSubrange(..<end.upperBound)
    let words = (lines.first ?? "").split(separator: " ").map(String.init)
    guard words.count == 3 else { return close(context) }
    note(.init(line: "\(words[0]) \(words[1])", fields: Array(lines.dropFirst())))
    guard isAllowed(lines) else {
      let answer =
        "HTTP/1.1 407 Denied\r\nProxy-Authenticate: \(rules.challenge)\r\nContent-Length: 0\r\n\r\n"
      return send(Array(answer.utf8), context)
    }
    isTunnel = words[0] == "CONNECT"
    if isTunnel, rules.refuses {
      return send(Array("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".utf8), context)
    }
    if isTunnel, rules.closesTunnels {
      send(Array(rules.opening.utf8), context)
      return close(context)
    }
    isTunnel ? openTunnel(words[1], context) : forward(words, lines, context)
  }

  private func isAllowed(_ lines: [String]) -> Bool {
    if let text = rules.wantsText, !lines.contains(where: { $0.contains(text) }) { return false }
    guard let user = rules.user else { return true }
    let wanted = Data("\(user):\(rules.password)".utf8).base64EncodedString()
    return lines.contains {
      $0.lowercased().hasPrefix("proxy-authorization:") && $0.hasSuffix(" Basic \(wanted)")
    }
  }

  private func openTunnel(_ authority: String, _ context: ChannelHandlerContext) {
    let (host, port) = Self.split(authority, port: 443)
    connect(host, port, context) { isOpen in
      self.send(Array((isOpen ? self.rules.opening : "HTTP/1.1 502 Bad\r\n\r\n").utf8), context)
    }
  }

  /// Absolute form becomes origin form. Fields for the proxy, and those in `strips`, are removed.
  private func forward(_ words: [String], _ lines: [String], _ context: ChannelHandlerContext) {
    let rest = words[1].dropFirst("http://".count)
    let authority = String(rest.prefix { $0 != "/" })
    let fields = lines.dropFirst().filter { line in
      let name = line.prefix { $0 != ":" }.lowercased()
      return !name.hasPrefix("proxy-") && !rules.strips.contains(name)
    }
    let head = ["\(words[0]) \(rest.dropFirst(authority.count)) HTTP/1.1"] + fields + ["", ""]
    let bytes = context.channel.allocator.buffer(string: head.joined(separator: "\r\n"))
    if let peer {
      peer.writeAndFlush(bytes, promise: nil)
      return
    }
    let (host, port) = Self.split(authority, port: 80)
    connect(host, port, context) { isOpen in
      if isOpen {
        self.peer?.writeAndFlush(bytes, promise: nil)
      } else {
        self.send(Array("HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n".utf8), context)
      }
    }
  }

  private static func split(_ authority: String, port: Int) -> (String, Int) {
    guard let colon = authority.lastIndex(of: ":"),
      let given = Int(authority[authority.index(after: colon)...])
    else { return (authority, port) }
    return (String(authority[..<colon]), given)
  }

  // MARK: SOCKS5

  private func takeGreeting(_ context: ChannelHandlerContext) {
    guard received.count >= 2, received.count >= 2 + Int(received[1]) else { return }
    let methods = received[2..<(2 + Int(received[1]))]
    let wanted: UInt8 = rules.user == nil ? 0 : 2
    let offers = methods.contains(wanted)
    received.removeFirst(2 + Int(received[1]))
    send([5, offers ? wanted : 0xFF], context)
    phase = wanted == 0 ? .request : .password
    if !offers { close(context) }
  }

  private func takePassword(_ context: ChannelHandlerContext) {
    guard received.count >= 2 else { return }
    let userEnd = 2 + Int(received[1])
    guard received.count > userEnd, received.count > userEnd + Int(received[userEnd]) else {
      return
    }
    let user = String(decoding: received[2..<userEnd], as: UTF8.self)
    let end = userEnd + 1 + Int(received[userEnd])
    let password = String(decoding: received[(userEnd + 1)..<end], as: UTF8.self)
    received.removeFirst(end)
    let isRight = user == rules.user && password == rules.password
    send([1, isRight ? 0 : 1], context)
    phase = .request
    if !isRight { close(context) }
  }

  private func takeRequest(_ context: ChannelHandlerContext) {
    guard received.count >= 5 else { return }
    let host: String
    let end: Int
    if received[3] == 3 {
      end = 5 + Int(received[4])
      guard received.count >= end + 2 else { return }
      host = String(decoding: received[5..<end], as: UTF8.self)
    } else {
      end = 8
      guard received.count >= end + 2 else { return }
      host = received[4..<8].map(String.init).joined(separator: ".")
    }
    let port = Int(received[end]) << 8 | Int(received[end + 1])
    received.removeFirst(end + 2)
    note(.init(line: "SOCKS \(host):\(port)", fields: []))
    let tail: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 0]
    if rules.refuses { return send([5, 2] + tail, context) }
    connect(host, port, context) { isOpen in self.send([5, isOpen ? 0 : 5] + tail, context) }
  }

  // MARK: Both

  private func connect(
    _ host: String, _ port: Int, _ context: ChannelHandlerContext,
    _ done: @escaping (Bool) -> Void
  ) {
    phase = .connecting
    let client = context.channel
    ClientBootstrap(group: context.eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ProxyUpstreamHandler(to: client))
        }
      }
      .connect(host: rules.host ?? host, port: rules.port ?? port)
      .assumeIsolated()
      .whenComplete { result in
        self.phase = .open
        if case .success(let channel) = result {
          self.peer = channel
          done(true)
        } else {
          done(false)
        }
        if !self.received.isEmpty { self.step(context) }
      }
  }

  private func close(_ context: ChannelHandlerContext) { context.close(promise: nil) }
}

/// The direction from the server to the client.
final class ProxyUpstreamHandler: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer

  private let client: any Channel

  init(to client: any Channel) { self.client = client }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    client.writeAndFlush(unwrapInboundIn(data), promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    client.close(promise: nil)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
