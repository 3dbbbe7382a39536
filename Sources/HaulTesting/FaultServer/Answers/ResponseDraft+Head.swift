import FoundationEssentials
import HaulCore

extension ResponseDraft {
  mutating func applyHead(_ action: Fault.Action) {
    switch action {
    case .setHeaders(let lines):
      for (name, value) in lines.map(Self.split) { set(name, expand(value)) }
    case .addHeaders(let lines):
      for (name, value) in lines.map(Self.split) { add(name, expand(value)) }
    case .removeHeaders(let names):
      names.forEach { remove($0) }
    case .digest(let field, let wrong): addDigest(field ?? .repr, wrong: wrong ?? false)
    case .hostileText(let position): addHostileText(position)
    case .headerBomb(let lineBytes, let count):
      if let lineBytes { add("X-Long", String(repeating: "a", count: lineBytes)) }
      for index in 0..<(count ?? 0) { add("X-\(index)", "b") }
    case .informational(let status, let count, let headers, let milliseconds):
      let lines =
        ["HTTP/1.1 \(status ?? 103) Interim"] + (headers ?? []).map { expand($0) } + ["", ""]
      interim = Answer.Interim(
        bytes: Array(lines.joined(separator: "\r\n").utf8), count: count,
        milliseconds: milliseconds ?? 0)
    default: break
    }
  }

  private mutating func addDigest(_ field: Fault.DigestField, wrong: Bool) {
    let digested: Range<Int64>
    if field == .content, case .content(let range) = payload {
      digested = range
    } else {
      digested = 0..<total
    }
    var digest = content.sha256(of: digested)
    if wrong { digest[0] ^= 1 }
    let text = Data(digest).base64EncodedString()
    switch field {
    case .repr: add("Repr-Digest", "sha-256=:\(text):")
    case .content: add("Content-Digest", "sha-256=:\(text):")
    case .legacy: add("Digest", "SHA-256=\(text)")
    }
  }

  /// A terminal's title sequence, raw and encoded C1 CSI, a bidirectional override, DEL.
  static let hostileBytes: [UInt8] =
    Array("\u{1B}]0;owned\u{7}\u{1B}[31m".utf8) + [0x9B] + Array("31m\u{9B}\u{202E}\u{7F}".utf8)

  private mutating func addHostileText(_ position: Fault.HostileTextPosition) {
    switch position {
    case .reason: reason = Array("OK ".utf8) + Self.hostileBytes
    case .header: fields.append(Field(name: "X-Hostile", value: Self.hostileBytes))
    case .fold:
      fields.append(Field(name: "X-Folded", value: Array("first\r\n second\r\n\tthird".utf8)))
    case .disposition:
      let value =
        Array("attachment; filename=\"".utf8) + Self.hostileBytes + Array("../txt.exe\"".utf8)
      fields.append(Field(name: "Content-Disposition", value: value))
    }
  }
}
