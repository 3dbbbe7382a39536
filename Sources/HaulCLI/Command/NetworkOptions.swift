import ArgumentParser
import HaulCore

/// How servers are spoken to.
struct NetworkOptions: ParsableArguments {
  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    help: ArgumentHelp(
      "A header field to send, never to another origin; @FILE reads them from a file.",
      valueName: "Name: value"))
  var headers: [String] = []

  @Option(
    name: .customLong("cacert"),
    help: ArgumentHelp("PEM file of authorities to trust instead.", valueName: "FILE"),
    transform: Self.path)
  var certificateAuthorities: String?

  @Flag(help: "Do not check the server's certificate; not inherited by redirects.")
  var insecure = false

  @Option(
    help: ArgumentHelp("Attempts after the first; 0 = none (default: 8).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 0...1_000_000) })
  var retries: Int?

  @Option(
    name: .customLong("retry-max-time"),
    help: ArgumentHelp("Give up after this without progress (default: 1h).", valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var retryMaximumTime: Duration?

  @Option(
    name: .customLong("connect-timeout"),
    help: ArgumentHelp("Longest time to connect (default: 10).", valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var connectTimeout: Duration?

  @Option(
    name: .customLong("idle-timeout"),
    help: ArgumentHelp("Longest silence of a connection (default: 30).", valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var idleTimeout: Duration?

  func apply(to request: inout TransferRequest) {
    request.allowInsecure = insecure
    if let retries { request.retry.retries = retries }
    if let retryMaximumTime { request.retry.maximumTime = retryMaximumTime }
  }

  func apply(to limits: inout EngineLimits) {
    limits.certificateAuthorities = certificateAuthorities
    if let connectTimeout { limits.connectTimeout = connectTimeout }
    if let idleTimeout { limits.idleTimeout = idleTimeout }
  }

  private static func path(_ text: String) throws(UsageError) -> String {
    guard !text.isEmpty, !text.contains("\0") else { throw UsageError("give the name of a file") }
    return text
  }
}
