import HaulControl
import HaulCore
import HaulLibC
import Hummingbird
import NIOCore

/// Sockets of `--listen`.
extension ListenAddress {
  /// A proxy of this machine speaks without TLS.
  var hasTLS: Bool { if case .tcp = self { true } else { false } }

  /// What a server binds. A name is looked up once, so that what was allowed is what is bound.
  /// - Throws: `in-use`, `io`, `dns`.
  func bound() throws(TransferError) -> BindAddress {
    switch self {
    case .socket(let path):
      var status = stat()
      if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
        throw TransferError(
          .io, "cannot listen at \(self): that is not a socket", advice: "choose another path")
      }
      // A user who may replace the socket gets what the proxy sends.
      if let problem = ReplaceablePath.problem(of: path.pathParts.directory) {
        throw TransferError(
          .permissionDenied, "cannot listen at \(self): \(problem)",
          advice: "choose a directory that only you may write to")
      }
      guard !answers(path) else {
        throw TransferError(
          .inUse, "cannot listen at \(self): another program uses that socket",
          advice: "choose another one")
      }
      return .unixDomainSocket(path: path)
    case .tcp(let host, let port):
      guard let address = try? SocketAddress.makeAddressResolvingHost(host, port: port).ipAddress
      else {
        throw TransferError(.dns, "cannot listen at \(self): there is no address of that name")
      }
      return .hostname(address, port: port)
    }
  }

  /// It listens now. As a port, such a socket is open to all users of this machine, among them the
  /// proxy: what is asked needs a token or a session all the same.
  /// - Returns: what to log.
  func began(at port: Int?) -> String {
    switch self {
    case .socket(let path):
      chmod(path, 0o666)
      return "listening on \(self)"
    case .tcp(let host, _): return "listening on port \(port ?? 0) of \(host)"
    }
  }

  /// It no longer listens.
  func end() {
    if case .socket(let path) = self { unlink(path) }
  }
}

/// Whether a program listens at the socket.
private func answers(_ path: String) -> Bool {
  let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
    }
  }
}
