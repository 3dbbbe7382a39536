import HaulCore

/// Where an S3 store is, and the access key: from the options, the environment, and the files of
/// the AWS tools, in this order.
struct S3Settings {
  let credentials: S3Credentials
  let region: String
  /// Nil for Amazon's.
  let endpoint: ResourceURL?
  let addressing: S3Object.Addressing

  init(_ options: S3Options, _ sources: CommandSources) throws(UsageError) {
    let files = try AWSFiles(sources)
    credentials = try files.credentials()
    region =
      options.region ?? files.environment("AWS_REGION")
      ?? files.environment("AWS_DEFAULT_REGION") ?? files.profile["region"] ?? "us-east-1"
    if let style = options.addressing {
      addressing = style
    } else {
      addressing = try files.addressing()
    }
    let given = options.endpoint.map { ("--s3-endpoint", $0) }
    guard let (name, address) = given ?? files.endpoint else {
      endpoint = nil
      return
    }
    do {
      endpoint = try AddressArgument.url(address)
    } catch {
      throw UsageError("\(name): \(error.message)")
    }
  }
}

/// The environment and the files of the AWS tools.
private struct AWSFiles {
  private let sources: CommandSources
  private let profileName: String
  private let isProfileChosen: Bool
  private let configuration: ProfileFile?
  /// The values of the profile in the configuration file.
  let profile: [String: String]

  init(_ sources: CommandSources) throws(UsageError) {
    self.sources = sources
    let chosen = Self.value("AWS_PROFILE", sources)
    (profileName, isProfileChosen) = (chosen ?? "default", chosen != nil)
    configuration = try Self.file("AWS_CONFIG_FILE", "config", .awsConfiguration, sources)
    profile =
      configuration?["profile \(profileName)"]
      ?? (profileName == "default" ? configuration?["default"] : nil) ?? [:]
  }

  func environment(_ name: String) -> String? { Self.value(name, sources) }

  /// Where the address of the store was found, and the address; nil for Amazon's.
  var endpoint: (String, String)? {
    guard !ignoresEndpoints else { return nil }
    for name in ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"] {
      if let address = environment(name) { return (name, address) }
    }
    let services = profile["services"].flatMap { configuration?["services \($0)"] } ?? [:]
    return (services["s3.endpoint_url"] ?? profile["endpoint_url"]).map { address in
      ("endpoint_url of the profile \(profileName)", address)
    }
  }

  /// Whether the addresses of the variables and of the profile do not count: only an option does.
  private var ignoresEndpoints: Bool {
    let value =
      environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
      ?? profile["ignore_configured_endpoint_urls"]
    return value?.lowercased() == "true"
  }

  /// `addressing_style`, a member of the group `s3` of the profile.
  func addressing() throws(UsageError) -> S3Object.Addressing {
    guard let style = profile["s3.addressing_style"] else { return .auto }
    do {
      return try ArgumentValue.choice(style)
    } catch {
      throw UsageError("addressing_style of the profile \(profileName): \(error.message)")
    }
  }

  func credentials() throws(UsageError) -> S3Credentials {
    if let id = environment("AWS_ACCESS_KEY_ID") {
      guard let secret = environment("AWS_SECRET_ACCESS_KEY") else {
        throw UsageError("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not")
      }
      return try Self.checked(id, secret, environment("AWS_SESSION_TOKEN"), "the environment")
    }
    let known = try Self.file(
      "AWS_SHARED_CREDENTIALS_FILE", "credentials", .accessKeys, sources)?[profileName]
    if let key = try Self.key(in: known ?? [:], profileName) { return key }
    if profile["aws_access_key_id"] != nil {
      // Read again, because a file with secrets must not be readable for others.
      _ = try Self.file("AWS_CONFIG_FILE", "config", .accessKeys, sources)
      if let key = try Self.key(in: profile, profileName) { return key }
    }
    throw missing(isProfileKnown: known != nil || !profile.isEmpty)
  }

  private func missing(isProfileKnown: Bool) -> UsageError {
    if isProfileChosen, !isProfileKnown {
      return UsageError("AWS_PROFILE: there is no profile \(profileName)")
    }
    let others = [
      "credential_process", "sso_session", "sso_start_url", "role_arn", "web_identity_token_file",
      "credential_source", "login_session",
    ]
    if let other = others.first(where: { profile[$0] != nil }) {
      return UsageError(
        "the profile \(profileName) has \(other), which is not supported; set the variables that "
          + "'aws configure export-credentials --format env' prints")
    }
    return UsageError(
      "s3: there is no access key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use "
        + "~/.aws/credentials")
  }

  private static func key(
    in profile: [String: String], _ name: String
  ) throws(UsageError) -> S3Credentials? {
    guard let id = profile["aws_access_key_id"], let secret = profile["aws_secret_access_key"]
    else { return nil }
    return try checked(id, secret, profile["aws_session_token"], "the profile \(name)")
  }

  /// They become parts of header fields.
  private static func checked(
    _ id: String, _ secret: String, _ token: String?, _ place: String
  ) throws(UsageError) -> S3Credentials {
    for value in [id, secret, token ?? "-"] {
      guard !value.isEmpty, value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw UsageError("the access key of \(place) is empty, or has a space or a special byte")
      }
    }
    return S3Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
  }

  private static func value(_ name: String, _ sources: CommandSources) -> String? {
    sources.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The file that the variable names, or that one of `~/.aws`; nil if there is none.
  private static func file(
    _ variable: String, _ name: String, _ purpose: CommandSources.Purpose,
    _ sources: CommandSources
  ) throws(UsageError) -> ProfileFile? {
    let home = value("HOME", sources)
    guard let path = value(variable, sources) ?? home.map({ "\($0)/.aws/\(name)" }) else {
      return nil
    }
    let text: String?
    do {
      text = try sources.read(path, purpose)
    } catch {
      throw UsageError("\(path): \(error.message)")
    }
    guard let text else { return nil }
    do {
      return try ProfileFile(text)
    } catch {
      throw UsageError("\(path): line \(error.line): \(error.message)")
    }
  }
}
