import HaulCore

/// Reads secrets from files. No message repeats any of them.
enum SecretFile {
  /// The value of an `Authorization` field from a file with a bearer token (RFC 6750, section 2.1).
  static func bearer(
    in path: String, _ sources: CommandSources
  ) throws(UsageError) -> String {
    let token = firstLine(
      of: try sources.text(of: path, for: .bearer, named: "--bearer-file \(path)"))
    guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw UsageError("--bearer-file \(path): the first line is not a token")
    }
    return "Bearer \(token)"
  }

  /// The password from the file, otherwise from the environment.
  static func password(
    in path: String?, _ sources: CommandSources
  ) throws(UsageError) -> String? {
    guard let path else { return sources.environment["HAUL_PASSWORD"] }
    return firstLine(
      of: try sources.text(of: path, for: .password, named: "--password-file \(path)"))
  }

  /// The file named by `NETRC`, otherwise `.netrc` in the home directory.
  static func netrc(_ sources: CommandSources, isRequired: Bool) throws(UsageError) -> Netrc? {
    guard let path = netrcPath(sources.environment) else {
      guard isRequired else { return nil }
      throw UsageError("--netrc: neither NETRC nor HOME is set")
    }
    let name = "netrc file \(path)"
    guard let text = try UsageError.checked(sources.read(path, .netrc), at: name) else {
      guard isRequired else { return nil }
      throw UsageError("--netrc: there is no file \(path)")
    }
    return try UsageError.checked(Netrc(text), at: name)
  }

  static func netrcPath(_ environment: [String: String]) -> String? {
    if let path = environment["NETRC"], !path.isEmpty { return path }
    guard let home = environment["HOME"], !home.isEmpty else { return nil }
    return "\(home)/.netrc"
  }

  private static func firstLine(of text: String) -> String {
    String(text.prefix(beforeAnyOf: "\r\n"))
  }
}
