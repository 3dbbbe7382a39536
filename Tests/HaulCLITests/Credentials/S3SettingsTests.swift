import HaulCLI
import HaulCore
import NIOConcurrencyHelpers
import Testing

/// Uploads to S3: the address, the access key and the region.
@Suite struct S3SettingsTests {
  private static let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret/+"]
  private static let home = ["HOME": "/h"]

  /// The requests of a command line with this environment and these files.
  private func requests(
    _ arguments: String..., environment: [String: String] = keys, files: [String: String] = [:],
    tree: UploadTree? = nil
  ) throws -> [UploadRequest] {
    let sources = CommandSources(
      environment: environment, read: { (path, _) throws(UsageError) in files[path] },
      tree: { (path, _) throws(UsageError) in path.hasPrefix("d") ? tree : nil })
    guard let plan = try Invocation.plan(["put"] + arguments, from: sources) as? PutPlan else {
      throw UsageError("that is not a put")
    }
    return plan.requests
  }

  private func refusal(
    _ arguments: String..., environment: [String: String] = keys, files: [String: String] = [:]
  ) -> String? {
    let sources = CommandSources(
      environment: environment, read: { (path, _) throws(UsageError) in files[path] })
    do {
      _ = try Invocation.plan(["put"] + arguments, from: sources)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `a directory is uploaded with all files below it, and no empty directory`() throws {
    let tree = UploadTree([
      .init(["a b"]), .init(["e"], isDirectory: true), .init(["x", "q?#"]),
    ])
    let endpoint = ["--s3-endpoint", "https://h"]
    let named = try requests("d", "f", "s3://b-1/k/", endpoint[0], endpoint[1], tree: tree)
    #expect(named.map(\.source) == ["d/a b", "d/x/q?#", "f"].map { .file($0) })
    #expect(
      named.map(\.url.absoluteString) == [
        "https://h/b-1/k/d/a%20b", "https://h/b-1/k/d/x/q%3F%23", "https://h/b-1/k/f",
      ])
    let content = try requests("d/", "s3://b-1", endpoint[0], endpoint[1], tree: tree)
    #expect(content.first?.url.absoluteString == "https://h/b-1/a%20b")
    #expect(throws: UsageError.self) { try requests("d", "s3://b-1/k", tree: tree) }
    #expect(throws: UsageError.self) {
      try requests("d", "s3://b-1/", tree: UploadTree([.init(["e"], isDirectory: true)]))
    }
  }

  @Test func `a bucket and a key; below a slash each file keeps its name`() throws {
    let one = try #require(try requests("f", "s3://b-1/a b?%20").first)
    #expect(one.url.absoluteString == "https://b-1.s3.us-east-1.amazonaws.com/a%20b%3F%2520")
    #expect(one.method == .s3)
    #expect(one.url.credentials == .init(user: "id", password: "s3cret/+"))
    let many = try requests("d/f", "g h", "s3://b-1/dir/", "--s3-region", "eu-west-1")
    #expect(
      many.map(\.url.absoluteString) == [
        "https://b-1.s3.eu-west-1.amazonaws.com/dir/f",
        "https://b-1.s3.eu-west-1.amazonaws.com/dir/g%20h",
      ])
    #expect(try requests("d/f", "s3://b-1")[0].url.path == "/f")
    #expect(try requests("d/f", "s3://b-1/")[0].url.path == "/f")
    #expect(try requests("d/f", "S3://b-1/K")[0].url.path == "/K")
  }

  @Test func `an option comes before the variables, and these before the files`() throws {
    let files = [
      "/h/.aws/config": "[default]\nregion = r3\nendpoint_url = http://e4\nservices = x\n"
        + "[services x]\ns3 =\n  endpoint_url = http://e3\n"
    ]
    var environment = Self.keys.merging(Self.home) { $1 }
    func url(_ arguments: String...) throws -> String {
      let sources = CommandSources(
        environment: environment, read: { (path, _) throws(UsageError) in files[path] })
      guard
        let plan = try Invocation.plan(["put", "f", "s3://b/k"] + arguments, from: sources)
          as? PutPlan
      else { return "" }
      return "\(plan.requests[0].region ?? "") \(plan.requests[0].url.origin.authority)"
    }
    #expect(try url() == "r3 e3")
    environment["AWS_ENDPOINT_URL"] = "http://e2"
    environment["AWS_DEFAULT_REGION"] = "r2"
    #expect(try url() == "r2 e2")
    environment["AWS_ENDPOINT_URL_S3"] = "http://e1"
    environment["AWS_REGION"] = "r1"
    #expect(try url() == "r1 e1")
    #expect(try url("--s3-endpoint", "http://e0", "--s3-region", "r0") == "r0 e0")
  }

  @Test
  func `addresses of the environment and of the profile can be ignored, but not the option's`()
    throws
  {
    let variable = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
    let amazon = "b-1.s3.us-east-1.amazonaws.com"
    let file = "[default]\nendpoint_url = http://e\n"
    let ignoring = file + "ignore_configured_endpoint_urls = true\n"
    func host(_ own: [String: String], _ file: String) throws -> String {
      let environment = Self.keys.merging(Self.home) { $1 }.merging(own) { $1 }
      let found = try requests(
        "f", "s3://b-1/k", environment: environment, files: ["/h/.aws/config": file])
      return found[0].url.origin.host
    }
    #expect(try host([:], file) == "e")
    #expect(try host([variable: "no"], file) == "e")
    #expect(try host([variable: "True"], file) == amazon)
    #expect(try host([variable: "true", "AWS_ENDPOINT_URL": "http://v"], file) == amazon)
    #expect(try host([:], ignoring) == amazon)
    #expect(try host([variable: "false"], ignoring) == "e")
    let given = try requests(
      "f", "s3://b-1/k", "--s3-endpoint", "http://o",
      environment: Self.keys.merging([variable: "true"]) { $1 })
    #expect(given[0].url.origin.host == "o")
  }

  @Test func `the profile or an option says whether the bucket is in the host's name`() throws {
    let environment = Self.keys.merging(Self.home) { $1 }
    let files = ["/h/.aws/config": "[default]\ns3 =\n  addressing_style = virtual\n"]
    let (option, endpoint) = ("--s3-endpoint", "https://h")
    let configured = try requests(
      "f", "s3://b-1/k", option, endpoint, environment: environment, files: files)
    #expect(configured[0].url.absoluteString == "https://b-1.h/k")
    let given = try requests(
      "f", "s3://b-1/k", option, endpoint, "--s3-addressing", "path", environment: environment,
      files: files)
    #expect(given[0].url.absoluteString == "https://h/b-1/k")
    let wrong = refusal(
      "f", "s3://b-1/k", environment: environment,
      files: ["/h/.aws/config": "[default]\ns3 =\n  addressing_style = dns\n"])
    #expect(wrong?.contains("addressing_style of the profile default") == true)
    #expect(refusal("f", "https://h/x", "--s3-addressing", "path") != nil)
    let remote = [
      "get", "https://s/f", "-o", "s3://b-1/k", option, endpoint, "--s3-addressing", "virtual",
    ]
    guard
      let plan = try Invocation.plan(remote, from: CommandSources(environment: Self.keys))
        as? PutPlan
    else { throw UsageError("that is not an upload") }
    #expect(plan.requests[0].url.absoluteString == "https://b-1.h/k")
  }

  @Test(arguments: [
    ("profile 'My  Prof'", "My  Prof"), ("profile \"My Prof\"", "My Prof"),
    ("profile  My  Prof", "My Prof"), ("profile\t'It'\"'\"'s'", "It's"),
    ("profile bob's", "bob's"), ("profile 'default'", "default"),
  ])
  func `the name of a profile may be quoted`(section: String, name: String) throws {
    let file = "[\(section)]\naws_access_key_id=c\naws_secret_access_key=z\n"
    let found = try requests(
      "f", "s3://b/k", environment: ["HOME": "/h", "AWS_PROFILE": name],
      files: ["/h/.aws/config": file])
    #expect(found[0].url.credentials?.user == "c")
  }

  @Test func `metadata that is not ASCII is refused before anything is sent`() throws {
    let refused = refusal("f", "s3://b/k", "-H", "X-Amz-Meta-Name: groß")
    #expect(refused?.contains("-H X-Amz-Meta-Name: S3 takes only ASCII") == true)
    #expect(refused?.contains("groß") == false)
    #expect(try requests("f", "s3://b/k", "-H", "x-amz-meta-name: gro%C3%9F").count == 1)
  }

  @Test func `the access key comes from the environment, or from the profile of a file`() throws {
    let files = [
      "/h/.aws/credentials":
        "# mine\n[default]\naws_access_key_id = d\naws_secret_access_key=x\n\n[work]\n"
        + "aws_access_key_id=w\r\naws_secret_access_key = y=\r\naws_session_token = t\r\n",
      "/h/.aws/config": "[profile third]\naws_access_key_id=c\naws_secret_access_key=z\n",
      "/elsewhere": "[default]\naws_access_key_id=e\naws_secret_access_key=e\n",
    ]
    func key(_ environment: [String: String]) throws -> String? {
      try requests(
        "f", "s3://b/k", environment: Self.home.merging(environment) { $1 }, files: files)[0]
        .url.credentials.map { "\($0.user) \($0.password)" }
    }
    #expect(try key([:]) == "d x")
    #expect(try key(["AWS_PROFILE": "work"]) == "w y=")
    #expect(try key(["AWS_PROFILE": "third"]) == "c z")
    #expect(try key(["AWS_SHARED_CREDENTIALS_FILE": "/elsewhere"]) == "e e")
    #expect(try key(Self.keys) == "id s3cret/+")
    let token = try requests(
      "f", "s3://b/k", environment: ["HOME": "/h", "AWS_PROFILE": "work"], files: files)[0]
    #expect(token.headers.map(\.value) == ["t"])
    let session = Self.keys.merging(["AWS_SESSION_TOKEN": "u"]) { $1 }
    #expect(try requests("f", "s3://b/k", environment: session)[0].headers.map(\.value) == ["u"])
  }

  @Test func `files that may have secrets are read only if others cannot read them`() throws {
    let read = NIOLockedValueBox([String]())
    let sources = CommandSources(
      environment: Self.home,
      read: { (path, purpose) throws(UsageError) in
        read.withLockedValue { $0.append("\(path) \(purpose.isSecret)") }
        return path == "/h/.aws/config"
          ? "[default]\naws_access_key_id=c\naws_secret_access_key=z\n" : nil
      })
    _ = try Invocation.plan(["put", "f", "s3://b/k"], from: sources)
    let purposes = read.withLockedValue { $0 }
    #expect(purposes.contains("/h/.aws/credentials true"))
    #expect(purposes.last == "/h/.aws/config true")
  }

  @Test func `without an access key nothing is sent, and the message says what to do`() {
    let alone = ["AWS_EC2_METADATA_DISABLED": "true"]
    #expect(refusal("f", "s3://b/k", environment: alone)?.contains("AWS_ACCESS_KEY_ID") == true)
    #expect(
      refusal("f", "s3://b/k", environment: ["AWS_ACCESS_KEY_ID": "i"])?
        .contains("AWS_SECRET_ACCESS_KEY is not") == true)
    #expect(
      refusal("f", "s3://b/k", environment: ["HOME": "/h", "AWS_PROFILE": "nobody"])?
        .contains("no profile nobody") == true)
    let sso = ["/h/.aws/config": "[profile p]\nsso_session = s\n"]
    #expect(
      refusal(
        "f", "s3://b/k", environment: ["HOME": "/h", "AWS_PROFILE": "p"], files: sso)?
        .contains("sso_session, which is not supported") == true)
  }

  @Test func `no message repeats a secret`() {
    let files = ["/h/.aws/credentials": "[default]\naws_secret_access_key s3cret\n"]
    let broken = refusal("f", "s3://b/k", environment: Self.home, files: files)
    #expect(broken?.contains("line 2") == true)
    #expect(broken?.contains("s3cret") == false)
    let odd = ["AWS_ACCESS_KEY_ID": "i", "AWS_SECRET_ACCESS_KEY": "s3 cret"]
    let spaced = refusal("f", "s3://b/k", environment: odd)
    #expect(spaced != nil && spaced?.contains("cret") == false)
  }

  @Test func `contradictions are refused`() {
    #expect(refusal("f", "g", "s3://b/k") != nil)
    #expect(refusal("d/f", "e/f", "s3://b/") != nil)
    #expect(refusal("f", "s3://") != nil)
    #expect(refusal("f", "s3://b/../k") != nil)
    #expect(refusal("f", "s3://b/k", "--method", "post") != nil)
    #expect(refusal("f", "s3://b/k", "--user", "u") != nil)
    #expect(refusal("f", "s3://b/k", "-H", "Authorization: x") != nil)
    #expect(refusal("f", "s3://b/k", "--s3-endpoint", "h.example") != nil)
    #expect(refusal("f", "s3://b/k", "--s3-region", "a b") != nil)
    #expect(refusal("f", "https://h/x", "--s3-region", "eu-west-1") != nil)
    #expect(refusal("-", "s3://b/") != nil)
  }
}
