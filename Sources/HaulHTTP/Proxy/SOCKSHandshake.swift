import HaulCore

/// The client's side of a SOCKS5 handshake (RFC 1928, RFC 1929): bytes in, bytes out.
struct SOCKSHandshake: ProxyHandshake {
  private enum Step { case method, password, reply, open }

  let proxy: ProxyRules.Proxy
  private let target: ResourceURL.Origin
  private var step = Step.method
  private var received: [UInt8] = []

  init(_ proxy: ProxyRules.Proxy, to target: ResourceURL.Origin) {
    self.proxy = proxy
    self.target = target
  }

  var isOpen: Bool { step == .open }

  /// Offers the authentication methods: none, and password if there are credentials.
  var greeting: [UInt8] { proxy.credentials == nil ? [5, 1, 0] : [5, 2, 0, 2] }

  /// Bytes after the proxy's last message.
  var rest: [UInt8] { received }

  /// Takes received bytes; returns the bytes to send next.
  /// - Throws: `proxy`.
  mutating func take(_ bytes: some Sequence<UInt8>) throws(TransferError) -> [UInt8] {
    received += bytes
    switch step {
    case .method: return try takeMethod()
    case .password: return try takeVerdict()
    case .reply:
      try takeReply()
      return []
    case .open: return []
    }
  }

  private mutating func takeMethod() throws(TransferError) -> [UInt8] {
    guard received.count >= 2 else { return [] }
    guard received[0] == 5 else {
      throw error("does not speak SOCKS5", advice: "is the address right?")
    }
    let method = received[1]
    received.removeFirst(2)
    switch (method, proxy.credentials) {
    case (0, _):
      step = .reply
      return request
    case (2, .some(let credentials)):
      step = .password
      let (user, password) = (Array(credentials.user.utf8), Array(credentials.password.utf8))
      return [1, UInt8(user.count)] + user + [UInt8(password.count)] + password
    case (_, nil):
      throw error("requires a user name and a password").remedied(by: .proxyCredentials)
    default: throw error("accepts neither a password nor a connection without one")
    }
  }

  private mutating func takeVerdict() throws(TransferError) -> [UInt8] {
    guard received.count >= 2 else { return [] }
    guard received[1] == 0 else {
      throw error("refused the user name and password").remedied(by: .proxyCredentials)
    }
    received.removeFirst(2)
    step = .reply
    return request
  }

  private mutating func takeReply() throws(TransferError) {
    guard received.count >= 5 else { return }
    guard received[0] == 5 else {
      throw error("does not speak SOCKS5", advice: "is the address right?")
    }
    guard received[1] == 0 else { throw refusal(received[1]) }
    let address: Int
    switch received[3] {
    case 1: address = 4
    case 3: address = 1 + Int(received[4])
    case 4: address = 16
    default: throw error("sent an unreadable answer")
    }
    guard received.count >= 6 + address else { return }
    received.removeFirst(6 + address)
    step = .open
  }

  /// The CONNECT request; the proxy looks up the host name.
  private var request: [UInt8] {
    let port = [
      UInt8(truncatingIfNeeded: target.port >> 8), UInt8(truncatingIfNeeded: target.port),
    ]
    if let address = IPAddress(target.host) {
      return [5, 1, 0, address.isIPv6 ? 4 : 1] + address.bytes + port
    }
    let name = Array(target.host.utf8.prefix(255))
    return [5, 1, 0, 3, UInt8(name.count)] + name + port
  }

  /// The error for a reply code (RFC 1928, section 6).
  private func refusal(_ code: UInt8) -> TransferError {
    let (what, advice): (String, String?) =
      switch code {
      case 2: ("does not allow the connection", nil)
      case 3, 4: ("cannot reach \(target.host)", "check the name and the network")
      case 5: ("was refused by \(target.host):\(target.port)", "is the server running?")
      case 6: ("got no answer from \(target.host)", nil)
      default: ("failed (\(code))", nil)
      }
    return error(what, advice: advice, isRetryable: code != 2 && code < 7)
  }

  private func error(
    _ what: String, advice: String? = nil, isRetryable: Bool = false
  ) -> TransferError {
    TransferError(.proxy, "the proxy \(proxy) \(what)", advice: advice, isRetryable: isRetryable)
  }
}
