import ArgumentParser

/// Credentials. Passwords and tokens are never arguments, which other users can read.
struct CredentialOptions: ParsableArguments {
  @Option(
    name: .customLong("user"),
    help: ArgumentHelp(
      """
      The user name. The password comes from --password-file, HAUL_PASSWORD or the netrc file; \
      otherwise haul asks for it.
      """, valueName: "NAME"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      "The file whose first line is the password; - is standard input.", valueName: "FILE"),
    completion: .file())
  var passwordFile: String?

  @Option(
    help: ArgumentHelp(
      "The file whose first line is a bearer token; - is standard input.", valueName: "FILE"),
    completion: .file())
  var bearerFile: String?

  @Option(
    help: ArgumentHelp("The environment variable that has a bearer token.", valueName: "NAME"))
  var bearerEnv: String?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Read user names and passwords from the file named by NETRC, else ~/.netrc.")
  var netrc: Bool?

  @Option(
    name: .customLong("cookie"),
    help: ArgumentHelp("A cookie to send; may be repeated.", valueName: "name=value"))
  var cookies: [String] = []

  @Option(
    name: .customLong("cookie-file"),
    help: ArgumentHelp(
      "A file of cookies in Netscape form; each is sent only where it applies.", valueName: "FILE"),
    completion: .file())
  var cookieFiles: [String] = []

  /// What it reads, `-` for standard input.
  var files: [String] { [bearerFile, passwordFile].compactMap(\.self) + cookieFiles }
}
