import Crypto
package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

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

private func readBytes(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
  read(file, buffer.baseAddress, buffer.count)
}

/// The secret of the control interface over TCP: 32 random bytes in a file for its owner only.
package struct ControlToken: Sendable {
  private let text: String

  private static let length = 64

  /// Reads the token, or creates it.
  /// - Throws: `permission-denied` when other users can read the file; `io`.
  package init(file path: String) throws(TransferError) {
    if let known = try Self.read(path) {
      text = known
    } else {
      text = try Self.create(path)
    }
  }

  /// For keys that follow from the token.
  var symmetricKey: SymmetricKey { SymmetricKey(data: Array(text.utf8)) }

  package func matches(_ candidate: some StringProtocol) -> Bool {
    Array(text.utf8).isEqualInConstantTime(to: Array(candidate.utf8))
  }

  private static func read(_ path: String) throws(TransferError) -> String? {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read", path)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("read", path) }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw TransferError(
        .permissionDenied, "other users can read the token in \(path)",
        advice: "run: chmod 600 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: length + 2)
    let count = bytes.withUnsafeMutableBytes { readBytes(file, $0) }
    let text =
      String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
      .split(whereSeparator: \.isWhitespace).first ?? ""
    guard text.utf8.count == length else {
      throw TransferError(
        .io, "\(path) has no token", advice: "delete the file, and a new one is created")
    }
    return String(text)
  }

  private static func create(_ path: String) throws(TransferError) -> String {
    let text = RandomText.make(words: length / 16)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("create", path) }
    defer { close(file) }
    guard write(file, text + "\n", length + 1) == length + 1 else { throw failure("write", path) }
    return text
  }

  private static func failure(_ verb: String, _ path: String) -> TransferError {
    TransferError(.io, "cannot \(verb) the token in \(path): \(SystemError.text(errno))")
  }
}
