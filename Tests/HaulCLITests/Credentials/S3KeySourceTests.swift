import HaulCLI
import HaulCore
import NIOConcurrencyHelpers
import Testing

/// Which source the access key of an S3 store comes from.
@Suite struct S3KeySourceTests {
  private static let home = ["HOME": "/h"]
  private static let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "canary"]
  private static let identity = [
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ROLE_ARN": "arn:r",
  ]
  private static let container = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/canary"]
  private static let configuration = "/h/.aws/config"
  private static let credentials = "/h/.aws/credentials"

  private static func request(
    _ environment: [String: String], _ files: [String: String] = [:], _ more: String...
  ) throws -> PutPlan {
    let sources = CommandSources(
      environment: home.merging(environment) { $1 },
      read: { (path, _) throws(UsageError) in files[path] })
    let plan = try Invocation.plan(["put", "f", "s3://b/k"] + more, from: sources) as? PutPlan
    return try #require(plan)
  }

  private static func source(
    _ environment: [String: String], _ files: [String: String] = [:]
  ) throws -> S3KeySource? {
    let plan = try request(environment, files)
    let upload = plan.requests[0]
    #expect((upload.keySource == nil) == (upload.url.credentials != nil))
    return upload.keySource
  }

  private static func refusal(
    _ environment: [String: String], _ files: [String: String] = [:]
  ) throws -> String {
    let error = #expect(throws: UsageError.self) { try request(environment, files) }
    let message = try #require(error).message
    #expect(!message.contains("canary"))
    return message
  }

  private static let profile = S3KeySource.Place.profile(
    name: "default", configuration: configuration, credentials: credentials)

  @Test func `The order is that of the AWS tools`() throws {
    let files = [Self.configuration: "[default]\ncredential_process = canary\n"]
    var environment = Self.keys.merging(Self.identity) { $1 }.merging(Self.container) { $1 }
    #expect(try Self.source(environment, files) == nil)
    environment["AWS_ACCESS_KEY_ID"] = nil
    #expect(
      try Self.source(environment, files)?.place
        == .webIdentity(role: "arn:r", session: nil, tokenFile: "/token"))
    environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = ""
    #expect(try Self.source(environment, files)?.place == Self.profile)
    #expect(try Self.source(environment)?.place == .container)
    environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = nil
    let instance = try ResourceURL("http://169.254.169.254/")
    #expect(try Self.source(environment)?.place == .instance(address: instance))
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
    #expect(try Self.refusal(environment).contains("there is no access key"))
  }

  /// aws-cli and boto3: their provider of a profile's role comes before that of web identities.
  @Test func `A profile's role comes before the web identity of the environment`() throws {
    let role = "[default]\nrole_arn = q\n"
    let environment = Self.identity.merging(Self.container) { $1 }
    let place = S3KeySource.Place.webIdentity(role: "arn:r", session: nil, tokenFile: "/token")
    for path in [Self.configuration, Self.credentials] {
      let name = path == Self.configuration ? "profile s" : "s"
      let key = "[\(name)]\naws_access_key_id=i\naws_secret_access_key=canary\n"
      let files = [path: "\(role)source_profile = s\n\(key)"]
      #expect(try Self.source(environment, files)?.place == Self.profile)
      // Half of a web identity does no harm there.
      let half = environment.filter { $0.key != "AWS_ROLE_ARN" }
      #expect(try Self.source(half, files)?.place == Self.profile)
      // The control: keys of the environment, and a role that is a web identity too.
      #expect(try Self.source(environment.merging(Self.keys) { $1 }, files) == nil)
      let identities = [path: "\(role)web_identity_token_file = /t\n"]
      #expect(try Self.source(environment, identities)?.place == place)
    }
    let unsupported = [Self.configuration: role]
    #expect(try Self.refusal(environment, unsupported).contains("without source_profile"))
  }

  @Test(arguments: [
    "credential_process = canary --x", "role_arn = r\nweb_identity_token_file = /t",
    "role_arn = r\nsource_profile = default\naws_access_key_id=i\naws_secret_access_key=canary",
  ])
  func `A profile with a role or a program is asked each time`(content: String) throws {
    #expect(
      try Self.source([:], [Self.configuration: "[default]\n\(content)\n"])?.place == Self.profile)
    #expect(
      try Self.source([:], [Self.credentials: "[default]\n\(content)\n"])?.place == Self.profile)
  }

  @Test func `A role may have a chain of profiles, but no circle`() throws {
    let chain = "[profile a]\nrole_arn=r\nsource_profile=b\n[profile b]\nrole_arn=q\n"
    let key = [Self.credentials: "[c]\naws_access_key_id=i\naws_secret_access_key=canary\n"]
    func files(_ last: String) -> [String: String] {
      key.merging([Self.configuration: "\(chain)source_profile=\(last)\n"]) { $1 }
    }
    let environment = ["AWS_PROFILE": "a"]
    #expect(
      try Self.source(environment, files("c"))?.place
        == .profile(
          name: "a", configuration: Self.configuration, credentials: Self.credentials))
    #expect(try Self.refusal(environment, files("a")).contains("its own source_profile"))
    #expect(try Self.refusal(environment, files("none")).contains("without a key"))
  }

  @Test(arguments: [
    ("sso_session = s", "sso_session, which is not supported"),
    ("role_arn = r\nsource_profile = default\nmfa_serial = m", "mfa_serial, which is not"),
    ("role_arn = r\ncredential_source = Environment", "credential_source, which is not supported"),
    ("credential_process = 'canary", "a quote in it has no end"),
    ("role_arn = r\nsource_profile = default", "without a key"),
  ])
  func `What is not supported is named`(content: String, reason: String) throws {
    let files = [Self.configuration: "[default]\n\(content)\n"]
    #expect(try Self.refusal([:], files).contains(reason))
  }

  @Test(arguments: [
    ("role_arn = r\ncredential_source = Environment", "credential_source, which is not"),
    ("role_arn = r", "role_arn without source_profile, which is not"),
    ("role_arn = r\nsource_profile = default\nmfa_serial = m", "mfa_serial, which is not"),
  ])
  func `A role is not left out for a key beside it`(role: String, reason: String) throws {
    let key = "aws_access_key_id = i\naws_secret_access_key = canary\n"
    for path in [Self.configuration, Self.credentials] {
      #expect(try Self.refusal([:], [path: "[default]\n\(key)\(role)\n"]).contains(reason))
    }
    // The control: a key counts for the profiles whose source it is, and without a role.
    let files = [
      Self.configuration: "[default]\nrole_arn = q\nsource_profile = s\n",
      Self.credentials: "[s]\n\(key)\(role)\n",
    ]
    #expect(try Self.source([:], files)?.place == Self.profile)
    #expect(try Self.source([:], [Self.credentials: "[default]\n\(key)mfa_serial=m\n"]) == nil)
  }

  @Test func `A program comes after the file for keys, and before keys of the configuration`()
    throws
  {
    let key = "[default]\naws_access_key_id=i\naws_secret_access_key=canary\n"
    let program = "credential_process = x\n"
    #expect(try Self.source([:], [Self.configuration: key + program])?.place == Self.profile)
    #expect(try Self.source([:], [Self.credentials: key + program]) == nil)
    let both = [Self.configuration: "[default]\n\(program)", Self.credentials: key]
    #expect(try Self.source([:], both) == nil)
  }

  @Test func `AWS_DEFAULT_PROFILE counts where AWS_PROFILE is not set`() throws {
    let files = [
      Self.configuration: "[profile a]\ncredential_process=x\n[profile b]\ncredential_process=x\n"
    ]
    func profile(_ environment: [String: String]) throws -> String? {
      try Self.source(environment, files)?.name
    }
    #expect(try profile(["AWS_DEFAULT_PROFILE": "a"]) == "the profile a")
    #expect(try profile(["AWS_DEFAULT_PROFILE": "a", "AWS_PROFILE": "b"]) == "the profile b")
    #expect(try profile(["AWS_DEFAULT_PROFILE": "a", "AWS_PROFILE": ""]) == "the profile a")
    let missing = try Self.refusal(["AWS_DEFAULT_PROFILE": "c"], files)
    #expect(missing.contains("AWS_DEFAULT_PROFILE: there is no profile c"))
  }

  @Test(arguments: [configuration, credentials])
  func `Half of a key is an error`(path: String) throws {
    let half = [path: "[default]\naws_access_key_id = i\n"]
    #expect(try Self.refusal(Self.container, half).contains("but no aws_secret_access_key"))
  }

  @Test func `Half of a source is an error`() throws {
    let half = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/token"]
    #expect(try Self.refusal(half).contains("AWS_ROLE_ARN is not"))
    let foreign = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://h.example/canary"]
    #expect(try Self.refusal(foreign).contains("without TLS"))
  }

  @Test func `The token service is that of the region, or where the environment says`() throws {
    let environment = Self.identity.merging(["AWS_REGION": "eu-west-1"]) { $1 }
    #expect(try Self.source(environment)?.region == "eu-west-1")
    #expect(try Self.source(environment)?.tokenService == nil)
    let named = environment.merging(["AWS_ENDPOINT_URL_STS": "http://127.0.0.1:9"]) { $1 }
    #expect(try Self.source(named)?.tokenService?.origin.port == 9)
    let wrong = environment.merging(["AWS_ENDPOINT_URL_STS": "x"]) { $1 }
    #expect(try Self.refusal(wrong).contains("AWS_ENDPOINT_URL_STS"))
  }

  @Test func `The token service is found like the store, in the order of the AWS tools`() throws {
    var environment = Self.identity.merging([
      "AWS_ENDPOINT_URL_STS": "https://a", "AWS_ENDPOINT_URL": "https://b",
    ]) { $1 }
    let services = "services = x\nendpoint_url = https://d\n"
    let section = "[services x]\nsts =\n  endpoint_url = https://c\n"
    var files = [Self.configuration: "[default]\n\(services)\(section)"]
    func host() throws -> String? { try Self.source(environment, files)?.tokenService?.origin.host }
    #expect(try host() == "a")
    environment["AWS_ENDPOINT_URL_STS"] = nil
    #expect(try host() == "b")
    environment["AWS_ENDPOINT_URL"] = nil
    #expect(try host() == "c")
    files[Self.configuration] = "[default]\n\(services)"
    #expect(try host() == "d")
    environment["AWS_ENDPOINT_URL_STS"] = "https://a"
    environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true"
    #expect(try host() == nil)
  }

  @Test(arguments: ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"])
  func `Without TLS, only this machine gets a token`(variable: String) throws {
    let foreign = [variable: "http://192.0.2.2"]
    let message = try Self.refusal(Self.identity.merging(foreign) { $1 })
    #expect(message.contains("\(variable): without TLS"))
    // The control: where no role is asked for, it gets none.
    let files = [Self.configuration: "[default]\ncredential_process = x\n"]
    #expect(try Self.source(foreign, files)?.tokenService == nil)
  }

  @Test func `A file that names a program must not be writable for others`() throws {
    let purposes = NIOLockedValueBox([CommandSources.Purpose]())
    let sources = CommandSources(
      environment: Self.home,
      read: { (path, purpose) throws(UsageError) in
        guard path == Self.configuration else { return nil }
        purposes.withLockedValue { $0.append(purpose) }
        return "[default]\ncredential_process = x\n"
      })
    _ = try Invocation.plan(["put", "f", "s3://b/k"], from: sources)
    #expect(purposes.withLockedValue { $0.last }?.isTrusted == true)
  }

  @Test func `The authorities of the AWS tools count for the store, unless others are given`()
    throws
  {
    func authorities(
      _ environment: [String: String], _ files: [String: String] = [:], _ more: String...
    ) throws -> String? {
      let sources = CommandSources(
        environment: Self.keys.merging(Self.home) { $1 }.merging(environment) { $1 },
        read: { (path, _) throws(UsageError) in files[path] })
      let plan = try Invocation.plan(["put", "f", "s3://b/k"] + more, from: sources) as? PutPlan
      return try #require(plan).managerOptions.certificateAuthorities
    }
    let files = [Self.configuration: "[default]\nca_bundle = /b\n"]
    #expect(try authorities([:]) == nil)
    #expect(try authorities(["AWS_CA_BUNDLE": "/a"], files) == "/a")
    #expect(try authorities([:], files) == "/b")
    #expect(try authorities(["AWS_CA_BUNDLE": "/a"], files, "--cacert", "/c") == "/c")
  }

  @Test func `A copy from server to server has the same source`() throws {
    let sources = CommandSources(environment: Self.identity)
    let plan = try Invocation.plan(["get", "https://s/f", "-o", "s3://b/k"], from: sources)
    let upload = try #require((plan as? PutPlan)?.requests.first)
    #expect(
      upload.keySource?.place
        == .webIdentity(role: "arn:r", session: nil, tokenFile: "/token"))
  }
}
