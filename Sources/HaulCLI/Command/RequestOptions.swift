import ArgumentParser
import HaulCore

/// How one transfer talks to servers.
struct RequestOptions: ParsableArguments {
  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    help: ArgumentHelp(
      """
      A header field to send; not sent to another origin after a redirect. @FILE reads header \
      fields from a file, one per line.
      """,
      valueName: "Name: value"))
  var headers: [String] = []

  /// The files of header fields, `-` for standard input.
  var files: [String] { headers.compactMap { $0.dropping(bytePrefix: "@").map(String.init) } }

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Do not check the server's certificate, except after a redirect to another origin.")
  var insecure: Bool?

  @Option(
    name: .customLong("trust-redirects"),
    help: ArgumentHelp(
      """
      After a redirect over https, also send header fields and passwords to this host; may be \
      repeated.
      """, valueName: "HOST"),
    transform: NetworkArgument.host)
  var trustedHosts: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      How often a failed attempt is retried; 0 = never, but what a server refused with Range may \
      be asked once without it (default: 8; with get, 2 if the host never answered).
      """,
      valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 0...1_000_000) })
  var retries: Int?

  @Option(
    name: .customLong("retry-max-time"),
    help: ArgumentHelp(
      "Give up after this time without progress (default: 1h).", valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var retryMaximumTime: Duration?

  func apply(to request: inout DownloadRequest) {
    request.allowInsecure = insecure ?? false
    request.trustedRedirectHosts = Set(trustedHosts)
    if let retries {
      request.retry.retries = retries
      request.retry.isShortAtFirstContact = false
    }
    if let retryMaximumTime { request.retry.maximumTimeWithoutProgress = retryMaximumTime }
  }

  /// The header fields, also those of files.
  func fields(_ sources: CommandSources) throws(UsageError) -> [HeaderArgument.Field] {
    var fields: [HeaderArgument.Field] = []
    for text in headers { fields += try HeaderArgument.fields(text, sources) }
    return fields
  }
}
