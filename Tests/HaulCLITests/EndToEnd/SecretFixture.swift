import Foundation
import Testing

/// One way to give the program a secret: a row of the table in `SecretRuns`.
struct SecretFixture: Sendable, CustomTestStringConvertible {
  /// The command line, the environment and the files of a run.
  struct Command {
    var address: String
    /// The host and port of the server.
    let server: String
    var options: [String] = []
    var environment: [String: String] = [:]
    /// Files with mode 0600, by name.
    var files: [String: String] = [:]
  }

  let testDescription: String
  /// What must not appear anywhere, in every form that it takes.
  let canaries: [String]
  /// What the request contains when the secret is sent; nil if no request to the origin contains
  /// it.
  let sent: String?
  /// The outcomes that are impossible with it.
  let excluded: Set<SecretRuns.Outcome>
  let plant: @Sendable (inout Command) -> Void

  init(
    _ what: String, _ canaries: [String], sent: String?, excluded: Set<SecretRuns.Outcome> = [],
    _ plant: @escaping @Sendable (inout Command) -> Void
  ) {
    testDescription = what
    self.canaries = canaries
    self.sent = sent
    self.excluded = excluded
    self.plant = plant
  }

  static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

  private static let basic = base64("canary-user:canary-password")

  /// Every place; add a row for each new option that takes a secret.
  static let all: [SecretFixture] = [
    SecretFixture("-H", ["canary-header"], sent: "X-Api-Key: canary-header") {
      $0.options += ["-H", "X-Api-Key: canary-header"]
    },
    SecretFixture("-H Authorization", ["canary-bearer"], sent: "Bearer canary-bearer") {
      $0.options += ["-H", "Authorization: Bearer canary-bearer"]
    },
    SecretFixture("-H Cookie", ["canary-cookie"], sent: "id=canary-cookie") {
      $0.options += ["-H", "Cookie: id=canary-cookie"]
    },
    SecretFixture("-H @FILE", ["canary-file"], sent: "X-Api-Key: canary-file") {
      $0.files["headers"] = "X-Api-Key: canary-file\n"
      $0.options += ["-H", "@headers"]
    },
    SecretFixture(
      "user information", ["canary-user", "canary-password", basic], sent: "Basic \(basic)"
    ) {
      $0.address = $0.address.replacingOccurrences(
        of: "://", with: "://canary-user:canary-password@")
    },
    SecretFixture(
      "percent-encoded user information",
      ["canary-p@ss", "canary-p%40ss", base64("u:canary-p@ss"), base64("u:canary-p%40ss")],
      sent: "Authorization: Basic "
    ) {
      $0.address = $0.address.replacingOccurrences(of: "://", with: "://u:canary-p%40ss@")
    },
    SecretFixture("signed query", ["canary-signature", "canary-bare"], sent: "canary-signature") {
      $0.address += "?X-Amz-Signature=canary-signature&canary-bare"
    },
    SecretFixture("fragment", ["canary-fragment"], sent: nil) {
      $0.address += "#canary-fragment"
    },
    SecretFixture("--password-file", ["canary-password", basic], sent: "Basic \(basic)") {
      $0.files["password"] = "canary-password\n"
      $0.options += ["--user", "canary-user", "--password-file", "password"]
    },
    SecretFixture("HAUL_PASSWORD", ["canary-password", basic], sent: "Basic \(basic)") {
      $0.environment["HAUL_PASSWORD"] = "canary-password"
      $0.options += ["--user", "canary-user"]
    },
    SecretFixture("--bearer-file", ["canary-token"], sent: "Bearer canary-token") {
      $0.files["token"] = "canary-token\n"
      $0.options += ["--bearer-file", "token"]
    },
    SecretFixture("--netrc", ["canary-password", basic], sent: "Basic \(basic)") {
      $0.files["netrc"] = "machine 127.0.0.1 login canary-user password canary-password\n"
      $0.environment["NETRC"] = "netrc"
      $0.options += ["--netrc"]
    },
    SecretFixture("--cookie", ["canary-cookie"], sent: "id=canary-cookie") {
      $0.options += ["--cookie", "id=canary-cookie"]
    },
    SecretFixture("--cookie-file", ["canary-jar"], sent: "id=canary-jar") {
      $0.files["jar"] = "127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tcanary-jar\n"
      $0.options += ["--cookie-file", "jar"]
    },
    // The fault server understands requests to a proxy, and is its own proxy.
    SecretFixture(
      "--proxy", ["canary-user", "canary-password", basic], sent: "Proxy-Authorization: ",
      excluded: [.refused, .untrusted, .redirected]
    ) {
      $0.options += ["--proxy", "http://canary-user:canary-password@\($0.server)"]
    },
  ]
}
