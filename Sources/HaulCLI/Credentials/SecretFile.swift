import HaulCore

/// Reads secrets from files. No message repeats any of them.
enum SecretFile {
  /// The value of an `Authorization` field with a bearer token (RFC 6750, section 2.1); nil without
  /// one.
  static func bearer(
    _ options: CredentialOptions, _ sources: CommandSources
  ) throws(UsageError) -> String? {
    if let path = options.bearerFile {
      let name = "--bearer-file \(path)"
      return try bearer(try sources.text(of: path, for: .bearer, named: name), name)
    }
    guard let variable = options.bearerEnv else { return nil }
    let name = "--bearer-env \(variable)"
    guard let text = sources.environment[variable] else {
      throw UsageError("\(name): there is no such variable")
    }
    return try bearer(text, name)
  }

  /// The file of the token, if it can be read again: a pipe cannot.
  static func lastingBearer(_ options: CredentialOptions) -> String? {
    options.bearerFile.flatMap { path in
      path == "-" || ["/dev/", "/proc/"].contains(where: path.hasBytePrefix) ? nil : path
    }
  }

  /// Reads such a file again.
  /// - Throws: without the token.
  static let bearerField: @Sendable (String) throws(TransferError) -> String? = {
    (path) throws(TransferError) in
    do throws(UsageError) {
      guard let text = try SourceFile.text(of: path, for: .bearerAgain) else { return nil }
      return try bearer(text, path)
    } catch {
      throw TransferError(.sourceUnreadable, error.message)
    }
  }

  private static func bearer(_ text: String, _ name: String) throws(UsageError) -> String {
    let token = firstLine(of: text)
    guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw UsageError("\(name): the first line is not a token")
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
