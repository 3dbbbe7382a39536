import HaulCore

/// The environment of the AWS tools, and the profile that it chooses in their files.
struct AWSFiles {
  private let sources: CommandSources
  private let isProfileChosen: Bool
  private let files: AWSProfiles
  private let profileName: String
  /// The values of the profile in the configuration file.
  let profile: [String: String]

  init(_ sources: CommandSources) throws(UsageError) {
    self.sources = sources
    let chosen = Self.value("AWS_PROFILE", sources)
    (profileName, isProfileChosen) = (chosen ?? "default", chosen != nil)
    files = try AWSProfiles(
      Self.path("AWS_CONFIG_FILE", "config", sources),
      Self.path("AWS_SHARED_CREDENTIALS_FILE", "credentials", sources), sources.read)
    profile = files.configured(profileName)
  }

  func environment(_ name: String) -> String? { Self.value(name, sources) }

  /// Where the address of the store was found, and the address; nil for Amazon's.
  var endpoint: (String, String)? {
    guard !ignoresEndpoints else { return nil }
    for name in ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"] {
      if let address = environment(name) { return (name, address) }
    }
    let services = profile["services"].flatMap { files.configuration?["services \($0)"] } ?? [:]
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

  /// The access key, or where it comes from, in the order of the AWS tools.
  func keys(region: String) throws(UsageError) -> (S3Credentials?, S3KeySource?) {
    if let id = environment("AWS_ACCESS_KEY_ID") {
      guard let secret = environment("AWS_SECRET_ACCESS_KEY") else {
        throw UsageError("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not")
      }
      let credentials = try AWSProfiles.checked(
        id, secret, environment("AWS_SESSION_TOKEN"), "the environment")
      return (credentials, nil)
    }
    if let place = try webIdentity() { return (nil, try source(place, region)) }
    switch try files.question(of: profileName) {
    case .known(let credentials): return (credentials, nil)
    case .some:
      let place = S3KeySource.Place.profile(
        name: profileName, configuration: files.configurationPath,
        credentials: files.credentialsPath)
      return (nil, try source(place, region))
    case nil: break
    }
    guard !isProfileChosen || files.knows(profileName) else {
      throw UsageError("AWS_PROFILE: there is no profile \(profileName)")
    }
    return (nil, try source(try machine(), region))
  }

  private func webIdentity() throws(UsageError) -> S3KeySource.Place? {
    guard let file = environment("AWS_WEB_IDENTITY_TOKEN_FILE") else { return nil }
    guard let role = environment("AWS_ROLE_ARN") else {
      throw UsageError("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not")
    }
    return .webIdentity(role: role, session: environment("AWS_ROLE_SESSION_NAME"), tokenFile: file)
  }

  /// The service of a container, or of a machine of Amazon's.
  private func machine() throws(UsageError) -> S3KeySource.Place {
    do throws(TransferError) {
      if try S3KeyAddress.container(sources.environment) != nil { return .container }
      if let address = try S3KeyAddress.instance(sources.environment) {
        return .instance(address: address)
      }
    } catch {
      throw UsageError("s3: \(error.message)")
    }
    throw UsageError(
      "s3: there is no access key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use "
        + "~/.aws/credentials")
  }

  private func source(
    _ place: S3KeySource.Place, _ region: String
  ) throws(UsageError) -> S3KeySource {
    guard S3Object.isRegion(region) else {
      throw UsageError("s3: \(region) is not the name of a region")
    }
    let name = "AWS_ENDPOINT_URL_STS"
    guard let text = environment(name) else { return S3KeySource(place, region: region) }
    do {
      return S3KeySource(place, region: region, tokenService: try AddressArgument.url(text))
    } catch {
      throw UsageError("\(name): \(error.message)")
    }
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
