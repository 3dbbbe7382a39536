import HaulCore
import HaulKit

/// What the profiles in the files of the AWS tools say of access keys.
struct AWSProfiles {
  let configurationPath: String?
  let credentialsPath: String?
  /// Nil if there is no such file.
  let configuration: ProfileFile?
  private let read: CommandSources.Reader

  init(
    _ configurationPath: String?, _ credentialsPath: String?,
    _ read: @escaping CommandSources.Reader
  ) throws(UsageError) {
    (self.configurationPath, self.credentialsPath) = (configurationPath, credentialsPath)
    self.read = read
    configuration = try Self.file(configurationPath, .awsConfiguration, read)
  }

  /// The values of a profile in the configuration file.
  func configured(_ name: String) -> [String: String] {
    configuration?["profile \(name)"] ?? (name == "default" ? configuration?["default"] : nil)
      ?? [:]
  }

  /// Whether one of the files has the profile.
  func knows(_ name: String) -> Bool {
    !configured(name).isEmpty || (try? credentials()?[name]) ?? nil != nil
  }

  /// Whether a profile takes a role with the key of another source, not with a web identity.
  func takesRole(_ name: String) throws(UsageError) -> Bool {
    let values = configured(name).merging(try credentials()?[name] ?? [:]) { $1 }
    return values["role_arn"] != nil && values["web_identity_token_file"] == nil
  }

  /// How the key of a profile is got; nil if the profile does not say.
  func question(of name: String) throws(UsageError) -> S3KeyQuestion? {
    try question(of: name, for: [])
  }

  /// - Parameter others: the profiles whose roles are taken with its key.
  private func question(
    of name: String, for others: [String]
  ) throws(UsageError) -> S3KeyQuestion? {
    let (known, configured) = (try credentials()?[name] ?? [:], configured(name))
    let values = configured.merging(known) { $1 }
    if let role = Self.role(values) {
      if let file = values["web_identity_token_file"] { return .webIdentity(role, tokenFile: file) }
      // As the source of another profile, it first has its own key.
      if others.isEmpty || values["aws_access_key_id"] == nil {
        for option in ["mfa_serial", "credential_source"] where values[option] != nil {
          throw Self.unsupported(option, name)
        }
        guard let source = values["source_profile"] else {
          throw Self.unsupported("role_arn without source_profile", name)
        }
        let found =
          source.isByteEqual(name)
          ? try own(name, known, configured) : try question(of: source, excluding: others + [name])
        guard let found else {
          throw UsageError("the profile \(name) has the source_profile \(source), without a key")
        }
        return .role(role, with: found)
      }
    }
    if let key = try own(name, known, configured) { return key }
    guard let other = Self.unsupported.first(where: { values[$0] != nil }) else { return nil }
    throw Self.unsupported(other, name)
  }

  private static func unsupported(_ option: String, _ name: String) -> UsageError {
    UsageError(
      "the profile \(name) has \(option), which is not supported; set the variables that "
        + "'aws configure export-credentials --format env' prints")
  }

  /// The same, unless the profile is one of these: it would be its own source.
  private func question(
    of name: String, excluding others: [String]
  ) throws(UsageError) -> S3KeyQuestion? {
    guard !others.contains(name) else {
      throw UsageError("the profile \(name) is its own source_profile, through others")
    }
    return try question(of: name, for: others)
  }

  private static let unsupported = [
    "sso_session", "sso_start_url", "mfa_serial", "web_identity_token_file", "credential_source",
    "login_session",
  ]

  private static func role(_ values: [String: String]) -> S3Role? {
    values["role_arn"].map { name in
      S3Role(
        name, session: values["role_session_name"], externalID: values["external_id"],
        seconds: values["duration_seconds"].flatMap { Int($0) })
    }
  }

  /// Its key without a role: that of the file for keys, of a program, of the configuration file.
  private func own(
    _ name: String, _ known: [String: String], _ configured: [String: String]
  ) throws(UsageError) -> S3KeyQuestion? {
    if let key = try Self.key(in: known, name) { return .known(key) }
    if let words = try program(name, known, configured) { return .program(words) }
    guard configured["aws_access_key_id"] != nil else { return nil }
    // Read again, because a file with secrets must not be readable for others.
    _ = try Self.file(configurationPath, .accessKeys, read)
    return try Self.key(in: configured, name).map { .known($0) }
  }

  private func program(
    _ name: String, _ known: [String: String], _ configured: [String: String]
  ) throws(UsageError) -> [String]? {
    let option = "credential_process"
    guard let command = known[option] ?? configured[option] else { return nil }
    // Read again, because a file that names a program must not be writable for others.
    if known[option] == nil { _ = try Self.file(configurationPath, .programs, read) }
    guard let words = CommandWords.split(command), !words.isEmpty else {
      throw UsageError("the profile \(name): \(option) is empty, or a quote in it has no end")
    }
    return words
  }

  /// The file with the keys, which must not be readable for others.
  private func credentials() throws(UsageError) -> ProfileFile? {
    try Self.file(credentialsPath, .accessKeys, read)
  }

  private static func key(
    in profile: [String: String], _ name: String
  ) throws(UsageError) -> S3Credentials? {
    guard let id = profile["aws_access_key_id"] else { return nil }
    guard let secret = profile["aws_secret_access_key"] else {
      throw UsageError("the profile \(name) has aws_access_key_id, but no aws_secret_access_key")
    }
    return try checked(id, secret, profile["aws_session_token"], "the profile \(name)")
  }

  /// They become parts of header fields.
  static func checked(
    _ id: String, _ secret: String, _ token: String?, _ place: String
  ) throws(UsageError) -> S3Credentials {
    let key = S3Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
    guard key.canBeSent else {
      throw UsageError("the access key of \(place) is empty, or has a space or a special byte")
    }
    return key
  }

  /// Nil if there is no such file.
  private static func file(
    _ path: String?, _ purpose: CommandSources.Purpose, _ read: CommandSources.Reader
  ) throws(UsageError) -> ProfileFile? {
    guard let path else { return nil }
    guard let text = try UsageError.checked(read(path, purpose), at: path) else { return nil }
    return try UsageError.checked(ProfileFile(text), at: path)
  }
}

extension S3KeyAccess {
  /// The files and the variables of this process.
  init(_ environment: [String: String]) {
    self.init(
      environment: environment.filter { S3KeyAddress.ofContainer.contains($0.key) },
      profile: { (name, configuration, credentials) throws(TransferError) in
        do throws(UsageError) {
          let files = try AWSProfiles(configuration, credentials) {
            (path, purpose) throws(UsageError) in try SourceFile.text(of: path, for: purpose)
          }
          if let question = try files.question(of: name) { return question }
        } catch {
          throw TransferError(.unauthorized, error.message)
        }
        throw TransferError(.unauthorized, "it has no key any more")
      },
      token: { (path) throws(TransferError) in
        do throws(UsageError) {
          return try SourceFile.text(of: path, for: .token)
        } catch {
          throw TransferError(.unauthorized, "\(path): \(error.message)")
        }
      })
  }
}
