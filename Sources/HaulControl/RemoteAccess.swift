import Crypto
package import HaulCore

/// How the control interface is offered over TCP, for a browser or a program without sockets.
package struct RemoteAccess: Hashable, Sendable {
  /// A loopback address.
  package var host: String
  /// 0 for any free port; nil to listen only when the page is asked for.
  package var port: Int?
  /// Downloads that are added over TCP are only written below these directories.
  package var roots: [String]

  package init(host: String, port: Int?, roots: [String]) {
    (self.host, self.port, self.roots) = (host, port, roots)
  }

  /// As it stands in the address of the page.
  package func authority(_ port: Int) -> String {
    "\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
  }
}

/// The secret of the control interface over TCP: 32 random bytes in a file for its owner only.
package struct ControlToken: Sendable {
  private let text: String

  private static let length = 64

  /// Reads the token, or creates it.
  /// - Throws: as `StateFile`: `permission-denied` when other users can read the file; `io`.
  package init(file path: String) throws(TransferError) {
    let file = StateFile(path: path)
    guard let bytes = try file.read(isSecret: true) else {
      text = RandomText.make(words: Self.length / 16)
      try file.write("\(text)\n".utf8)
      return
    }
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    text = words.first.map(String.init) ?? ""
    guard text.utf8.count == Self.length else {
      throw TransferError(
        .io, "\(path) has no token", advice: "delete the file, and a new one is created")
    }
  }

  /// For keys that follow from the token.
  var symmetricKey: SymmetricKey { SymmetricKey(data: Array(text.utf8)) }

  package func matches(_ candidate: some StringProtocol) -> Bool {
    Array(text.utf8).isEqualInConstantTime(to: Array(candidate.utf8))
  }
}
