import Crypto
package import HaulCore

/// How the control interface is offered over TCP, for a browser or a program without sockets.
package struct RemoteAccess: Hashable, Sendable {
  /// Where it listens from the start. If there is none, it listens on a free port of 127.0.0.1 when
  /// the page is asked for.
  package var listeners: [ListenAddress]
  /// Downloads that are added over TCP are only written below these directories.
  package var roots: [String]
  /// More names that `Host` may have, with a port if it is not that of the listener.
  package var hosts: [HostName]
  /// Where a proxy offers it.
  package var publicURL: PublicAddress?
  /// As which users of this machine, beside the superuser and the daemon's own, that proxy connects
  /// to a Unix socket.
  package var proxyUsers: Set<UInt32> = []
  package var tls: CertificateSource?

  package init(
    listeners: [ListenAddress] = [], roots: [String], hosts: [HostName] = [],
    publicURL: PublicAddress? = nil, tls: CertificateSource? = nil
  ) {
    (self.listeners, self.roots, self.hosts) = (listeners, roots, hosts)
    (self.publicURL, self.tls) = (publicURL, tls)
  }

  /// The address of a new page, if it is at this listener: at that of the proxy, or else at the
  /// first port; `haul ui` says one only.
  /// - Parameter port: the one that it has.
  package func page(at listener: ListenAddress, port: Int?) -> String? {
    if let publicURL { return "\(publicURL)" }
    let first = listeners.first { if case .tcp = $0 { true } else { false } }
    guard case .tcp(let host, _) = listener, let port, first == nil || first == listener else {
      return nil
    }
    let own = listener.isAny ? (host.hasBytes(":") ? "::1" : "127.0.0.1") : host
    // A certificate is for the name mostly.
    let name = tls == nil ? nil : hosts.first
    let shown = HostName(host: name?.host ?? own, port: name?.port ?? port)
    return "\(tls == nil ? "http" : "https")://\(shown)/"
  }

  /// The first listener that other machines can reach by themselves.
  package var exposed: ListenAddress? { listeners.first { !$0.isLocal } }

  /// Why nothing may listen there.
  /// - Parameter hasPassword: whether the page has one.
  package func refusal(hasPassword: Bool) -> TransferError? {
    guard let exposed, tls == nil || !hasPassword else { return nil }
    let missing = [
      tls == nil ? "TLS (--tls-cert FILE --tls-key FILE, or --tls-self-signed)" : nil,
      hasPassword ? nil : "a password (run: haul ui password)",
    ].compactMap(\.self).joined(separator: " and ")
    return TransferError(
      .permissionDenied, "--listen \(exposed): other machines could reach it",
      advice: "add \(missing), or listen on 127.0.0.1 and use ssh -L or a proxy (--public-url)")
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
