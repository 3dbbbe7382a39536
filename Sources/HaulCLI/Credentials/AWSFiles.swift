import HaulCore

/// The environment of the AWS tools, and the profile that it chooses in their files.
struct AWSFiles {
  private let sources: CommandSources
  /// The variable that names the profile; nil if none does.
  private let profileVariable: String?
  private let files: AWSProfiles
  private let profileName: String
  /// The values of the profile in the configuration file.
  let profile: [String: String]

  init(_ sources: CommandSources) throws(UsageError) {
    self.sources = sources
    profileVariable = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].first {
      Self.value($0, sources) != nil
    }
    profileName = profileVariable.flatMap { Self.value($0, sources) } ?? "default"
    files = try AWSProfiles(
      Self.path("AWS_CONFIG_FILE", "config", sources),
      Self.path("AWS_SHARED_CREDENTIALS_FILE", "credentials", sources), sources.read)
    profile = files.configured(profileName)
  }

  func environment(_ name: String) -> String? { Self.value(name, sources) }

  /// Where the address of a service was found, and the address; nil for Amazon's.
  /// - Parameter service: `s3` or `sts`.
  func endpoint(of service: String) -> (String, String)? {
    guard !ignoresEndpoints else { return nil }
    for name in ["AWS_ENDPOINT_URL_\(service.uppercased())", "AWS_ENDPOINT_URL"] {
      if let address = environment(name) { return (name, address) }
    }
    let services = profile["services"].flatMap { files.configuration?["services \($0)"] } ?? [:]
    return (services["\(service).endpoint_url"] ?? profile["endpoint_url"]).map { address in
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
    return try UsageError.checked(
      ArgumentValue.choice(style), at: "addressing_style of the profile \(profileName)")
  }

  /// The access key, or where it comes from, in the order of aws-cli and boto3.
  func keys(region: String) throws(UsageError) -> (S3Credentials?, S3KeySource?) {
    if let id = environment("AWS_ACCESS_KEY_ID") {
      guard let secret = environment("AWS_SECRET_ACCESS_KEY") else {
        throw UsageError("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not")
      }
      let credentials = try AWSProfiles.checked(
        id, secret, environment("AWS_SESSION_TOKEN"), "the environment")
      return (credentials, nil)
    }
    if let file = environment("AWS_WEB_IDENTITY_TOKEN_FILE"), try !files.takesRole(profileName) {
      return (nil, try source(try webIdentity(file), region, asksRole: true))
    }
    if let question = try files.question(of: profileName) {
      if case .known(let credentials) = question { return (credentials, nil) }
      let place = S3KeySource.Place.profile(
        name: profileName, configuration: files.configurationPath,
        credentials: files.credentialsPath)
      return (nil, try source(place, region, asksRole: question.asksTokenService))
    }
    if let profileVariable, !files.knows(profileName) {
      throw UsageError("\(profileVariable): there is no profile \(profileName)")
    }
    return (nil, try source(try machine(), region, asksRole: false))
  }

  private func webIdentity(_ file: String) throws(UsageError) -> S3KeySource.Place {
    guard let role = environment("AWS_ROLE_ARN") else {
      throw UsageError("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not")
    }
    return .webIdentity(role: role, session: environment("AWS_ROLE_SESSION_NAME"), tokenFile: file)
  }

  /// The service of a container, or of a machine of Amazon's.
  private func machine() throws(UsageError) -> S3KeySource.Place {
    let environment = sources.environment
    if try UsageError.checked(S3KeyAddress.container(environment), at: "s3") != nil {
      return .container
    }
    if let address = try UsageError.checked(S3KeyAddress.instance(environment), at: "s3") {
      return .instance(address: address)
    }
    throw UsageError(
      "s3: there is no access key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use "
        + "~/.aws/credentials")
  }

  /// - Parameter asksRole: whether the token service is asked.
  private func source(
    _ place: S3KeySource.Place, _ region: String, asksRole: Bool
  ) throws(UsageError) -> S3KeySource {
    guard S3Object.isRegion(region) else {
      throw UsageError("s3: \(region) is not the name of a region")
    }
    guard asksRole, let (name, text) = endpoint(of: "sts") else {
      return S3KeySource(place, region: region)
    }
    let url = try UsageError.checked(AddressArgument.url(text), at: name)
    try UsageError.checked(S3KeyAddress.check(url, of: name))
    return S3KeySource(place, region: region, tokenService: url)
  }

  private static func value(_ name: String, _ sources: CommandSources) -> String? {
    sources.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The file that the variable names, or that one of `~/.aws`.
  private static func path(
    _ variable: String, _ name: String, _ sources: CommandSources
  ) -> String? {
    value(variable, sources) ?? value("HOME", sources).map { "\($0)/.aws/\(name)" }
  }
}
