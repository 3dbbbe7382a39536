import ArgumentParser
import HaulControl
import HaulCore
import HaulFiles

/// Where the daemon serves the web page and programs, beside its socket.
struct ListenOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Serve the control interface and the page here too, for clients with a token; may be \
      repeated. Anything but a loopback address, or unix:PATH for a proxy, needs TLS and a \
      password (haul ui password).
      """, valueName: "ADDRESS:PORT"))
  var listen: [String] = []

  @Option(
    help: ArgumentHelp(
      "Accept this name of the daemon in requests too; may be repeated.",
      valueName: "NAME[:PORT]"))
  var host: [String] = []

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp(
      "The https address at which a proxy of this machine offers the page.", valueName: "URL"))
  var publicURL: String?

  @Option(
    help: ArgumentHelp(
      """
      The user as which that proxy connects to unix:PATH, by name or number; may be repeated \
      (default: root and your own).
      """, valueName: "USER"))
  var proxyUser: [String] = []

  @Option(
    help: ArgumentHelp(
      "The certificate for --listen, with its chain (PEM).", valueName: "FILE"),
    completion: .file())
  var tlsCert: String?

  @Option(
    help: ArgumentHelp("Its key (PEM).", valueName: "FILE"), completion: .file())
  var tlsKey: String?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Make a certificate for --listen, and print its fingerprint.")
  var tlsSelfSigned: Bool?

  static let names: Set = [
    "listen", "host", "public-url", "proxy-user", "tls-cert", "tls-key", "tls-self-signed",
  ]

  /// Lines of the configuration file that do not count beside these options.
  var overridden: Set<String> {
    var names: Set<String> = []
    if !listen.isEmpty {
      names.insert("listen")
      // It is for a socket.
      if !listen.contains(where: { $0.hasBytePrefix("unix:") }) { names.insert("proxy-user") }
    }
    if !host.isEmpty { names.insert("host") }
    if !proxyUser.isEmpty { names.insert("proxy-user") }
    if tlsSelfSigned == true { names.formUnion(["tls-cert", "tls-key"]) }
    if tlsCert != nil || tlsKey != nil { names.insert("tls-self-signed") }
    return names
  }

  func access(_ roots: [String]) throws(UsageError) -> RemoteAccess {
    var access = RemoteAccess(roots: roots, tls: try source())
    access.listeners = try listen.map { (text) throws(UsageError) in
      guard let listener = ListenAddress(text) else {
        throw UsageError(
          "--listen \(text): give ADDRESS:PORT, such as 127.0.0.1:8765, [::1]:8765 or "
            + "0.0.0.0:8765, or unix:PATH")
      }
      return listener
    }
    access.hosts = try host.map { (text) throws(UsageError) in
      guard let host = HostName(text) else {
        throw UsageError("--host \(text): give a name, and perhaps a port, as browsers send it")
      }
      return host
    }
    access.publicURL = try publicURL.map { (text) throws(UsageError) in
      guard let url = PublicAddress(text) else {
        throw UsageError(
          "--public-url: give an https address without user, query and fragment, such as "
            + "https://nas.example/haul/")
      }
      return url
    }
    for name in proxyUser {
      guard let user = UserName.number(name) else {
        throw UsageError("--proxy-user \(name): there is no such user of this machine")
      }
      access.proxyUsers.insert(user)
    }
    try check(access)
    return access
  }

  private func source() throws(UsageError) -> CertificateSource? {
    switch (tlsCert, tlsKey, tlsSelfSigned ?? false) {
    case (nil, nil, let isSelfSigned): return isSelfSigned ? .selfSigned : nil
    case (let certificate?, let key?, false):
      guard certificate.isAbsolutePath, key.isAbsolutePath else {
        throw UsageError("--tls-cert and --tls-key need absolute paths")
      }
      return .files(certificate: certificate, key: key)
    case (_, _, true): throw UsageError("give --tls-self-signed, or --tls-cert and --tls-key")
    default: throw UsageError("--tls-cert and --tls-key need each other")
    }
  }

  private func check(_ access: RemoteAccess) throws(UsageError) {
    if access.listeners.isEmpty, access.publicURL != nil || access.tls != nil {
      throw UsageError(
        "--public-url, --tls-cert and --tls-self-signed need --listen, which says where")
    }
    let hasSocket = access.listeners.contains { if case .socket = $0 { true } else { false } }
    if hasSocket, access.publicURL == nil {
      throw UsageError("--listen unix:PATH needs --public-url, the address of the proxy")
    }
    guard hasSocket || access.proxyUsers.isEmpty else {
      throw UsageError("--proxy-user is for a proxy that connects to --listen unix:PATH")
    }
    // Whether there is a password, the daemon knows.
    if let refusal = access.refusal(hasPassword: true) { throw UsageError(refusal.message) }
  }
}
