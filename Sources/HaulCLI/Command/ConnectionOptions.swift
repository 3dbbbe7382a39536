import ArgumentParser
import HaulCore
import HaulKit

/// How all transfers connect to servers.
struct ConnectionOptions: ParsableArguments {
  @Option(
    name: .customLong("cacert"),
    help: ArgumentHelp(
      "PEM file of certificate authorities; no others are trusted.", valueName: "FILE"),
    completion: .file(), transform: Self.path)
  var certificateAuthorities: String?

  @Option(
    name: .customLong("cert"),
    help: ArgumentHelp("PEM file of the client certificate.", valueName: "FILE"),
    completion: .file(), transform: Self.path)
  var certificate: String?

  @Option(
    help: ArgumentHelp("PEM file of the key of --cert, without a password.", valueName: "FILE"),
    completion: .file(), transform: Self.path)
  var key: String?

  @Option(
    name: .customLong("tls-min"),
    help: ArgumentHelp("Oldest TLS version to allow (default: 1.2).", valueName: "1.2|1.3"),
    transform: { try ArgumentValue.choice($0) })
  var minimumTLS: TLSVersion?

  @Flag(
    name: .customLong("http1.1"), inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Never speak HTTP/2.")
  var http1: Bool?

  @Flag(
    name: .customLong("http2"), inversion: .prefixedNo, exclusivity: .chooseLast,
    help:
      """
      Use HTTP/2 for every file of an https server that supports it (default: only for many \
      files of one host).
      """
  )
  var http2: Bool?

  @Option(
    help: ArgumentHelp(
      "Proxy for all requests: http, socks5 or socks5h; '' for none.", valueName: "URL"))
  var proxy: String?

  @Option(
    help: ArgumentHelp(
      "Hosts, domains and networks to reach without a proxy; * for all.", valueName: "LIST"))
  var noproxy: String?

  @Flag(name: .customShort("4"), help: "Connect to IPv4 addresses only.")
  var ipv4 = false

  @Flag(name: .customShort("6"), help: "Connect to IPv6 addresses only.")
  var ipv6 = false

  @Option(
    help: ArgumentHelp("Address of this machine to connect from.", valueName: "ADDRESS"),
    transform: NetworkArgument.address)
  var interface: String?

  @Option(
    help: ArgumentHelp(
      "Connect to this address for that host; may be repeated.", valueName: "HOST:ADDRESS"),
    transform: NetworkArgument.resolution)
  var resolve: [NetworkArgument.Resolution] = []

  @Option(
    name: .customLong("user-agent"),
    help: ArgumentHelp("The User-Agent to send (default: haul).", valueName: "TEXT"),
    transform: NetworkArgument.userAgent)
  var userAgent: String?

  @Option(
    name: .customLong("connect-timeout"),
    help: ArgumentHelp("Longest time to connect (default: 10).", valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var connectTimeout: Duration?

  @Option(
    name: .customLong("idle-timeout"),
    help: ArgumentHelp(
      "Longest time without a received byte (default: 30; for an upload's answer at least 300).",
      valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var idleTimeout: Duration?

  /// - Throws: when options contradict each other.
  func apply(to managerOptions: inout ManagerOptions) throws(UsageError) {
    managerOptions.certificateAuthorities = certificateAuthorities
    if let connectTimeout { managerOptions.connectTimeout = connectTimeout }
    if let idleTimeout { managerOptions.idleTimeout = idleTimeout }
    if let certificate {
      managerOptions.clientCertificate = ClientCertificate(
        certificateFile: certificate, keyFile: key ?? certificate)
    } else if key != nil {
      throw UsageError("--key is the key of a certificate; give --cert too")
    }
    if let minimumTLS { managerOptions.minimumTLS = minimumTLS }
    if http1 == true, http2 == true {
      throw UsageError("--http1.1 and --http2 contradict each other")
    }
    if http1 == true { managerOptions.httpVersion = .http1 }
    if http2 == true { managerOptions.httpVersion = .http2 }
    // Not checked while parsing: the parser's error repeats the text, which may contain a
    // password.
    managerOptions.proxy = try proxy.map(NetworkArgument.proxy)
    managerOptions.noProxy = try noproxy.map(NetworkArgument.exceptions)
    try applyAddresses(to: &managerOptions)
    if let userAgent { managerOptions.userAgent = userAgent }
  }

  private func applyAddresses(to managerOptions: inout ManagerOptions) throws(UsageError) {
    if ipv4, ipv6 { throw UsageError("-4 and -6 contradict each other") }
    if ipv4 { managerOptions.addressFamily = .ipv4 }
    if ipv6 { managerOptions.addressFamily = .ipv6 }
    let families = [interface].compactMap { $0 } + resolve.map(\.address)
    for address in families where ipv4 || ipv6 {
      guard IPAddress(address)?.isIPv6 == ipv6 else {
        let (family, flag) = ipv6 ? ("IPv6", "-6") : ("IPv4", "-4")
        throw UsageError("\(address) is not an \(family) address, but \(flag) is given")
      }
    }
    managerOptions.localAddress = interface
    for rule in resolve {
      if let other = managerOptions.addresses.updateValue(rule.address, forKey: rule.host),
        other != rule.address
      {
        throw UsageError("--resolve gives \(rule.host) two addresses")
      }
    }
  }

  private static func path(_ text: String) throws(UsageError) -> String {
    guard !text.isEmpty, !text.hasBytes("\0") else { throw UsageError("give the name of a file") }
    return text
  }
}
