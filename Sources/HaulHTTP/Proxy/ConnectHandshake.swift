import HaulCore

/// The client's side of a CONNECT request (RFC 9110, section 9.3.6).
struct ConnectHandshake: ProxyHandshake {
  let proxy: ProxyRules.Proxy
  private let digest: DigestNonces.Use?
  private let target: String
  private let userAgent: String
  private var received: [UInt8] = []
  private(set) var isOpen = false

  private static let maximumHead = 64 << 10

  /// - Parameter digest: answers the proxy's challenge of before.
  init(
    _ proxy: ProxyRules.Proxy, to host: String, _ port: Int, userAgent: String,
    digest: DigestNonces.Use?
  ) {
    (self.proxy, self.digest, self.userAgent) = (proxy, digest, userAgent)
    target = host.hasBytes(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  var greeting: [UInt8] {
    var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)", "User-Agent: \(userAgent)"]
    let proof = digest?.field("CONNECT", target) ?? proxy.credentials?.basic
    if let proof { lines.append("Proxy-Authorization: \(proof)") }
    return FieldText.bytes(of: lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  var rest: [UInt8] { received }

  /// - Throws: `proxy`, and `TunnelRefused`.
  mutating func take(_ bytes: some Sequence<UInt8>) throws -> [UInt8] {
    received += bytes
    while !isOpen, let head = try takeHead() {
      guard let status = Self.status(of: head[0]) else {
        throw error("does not speak HTTP", advice: "is the address right?")
      }
      switch status {
      case 100..<200: continue
      case 200..<300:
        // In a tunnel with TLS the client speaks first.
        guard received.isEmpty else {
          throw error("answered with a page in place of a tunnel", advice: "does it want a login?")
        }
        isOpen = true
      case 407: throw TunnelRefused(challenges: Self.challenges(in: head), used: digest)
      default:
        throw error("answered \(status) to a tunnel to \(target)", advice: "is that allowed?")
      }
    }
    return []
  }

  /// The lines of a head, without its empty one; nil before it has arrived.
  private mutating func takeHead() throws -> [String]? {
    var end: Int?
    var start = 0
    var lines: [String] = []
    while let feed = received[start...].firstIndex(of: 0x0A) {
      let line = received[start..<feed]
      let text = line.last == 0x0D ? line.dropLast() : line
      start = feed + 1
      if text.isEmpty {
        end = start
        break
      }
      lines.append(FieldText.reversible(Array(text)))
    }
    guard let end else {
      guard received.count <= Self.maximumHead else { throw error("sent an endless header") }
      return nil
    }
    received.removeFirst(end)
    return lines.isEmpty ? [""] : lines
  }

  private static func status(of line: String) -> Int? {
    let words = line.byteSplit(separator: " ")
    guard words.count > 1, words[0].hasBytePrefix("HTTP/1."), words[1].utf8.count == 3 else {
      return nil
    }
    return Int(words[1])
  }

  private static func challenges(in head: [String]) -> [AuthChallenge] {
    let fields = head.dropFirst().compactMap { line -> (String, String)? in
      guard let colon = line.firstByteIndex(of: ":") else { return nil }
      return (String(line[..<colon]), String(line[line.utf8.index(after: colon)...]))
    }
    return AuthChallenge.all(in: HeaderFields(fields), named: "Proxy-Authenticate")
  }

  private func error(_ what: String, advice: String? = nil) -> TransferError {
    TransferError(.proxy, "the proxy \(proxy) \(what)", advice: advice, isRetryable: true)
  }
}
