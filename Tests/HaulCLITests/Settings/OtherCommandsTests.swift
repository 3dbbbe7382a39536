import HaulCLI
import HaulCore
import Testing

/// The configuration file with commands other than get.
@Suite struct OtherCommandsTests {
  private func probe(_ arguments: [String], _ text: String) throws -> ProbePlan {
    let all = ["probe"] + arguments + ["https://h/x"]
    guard let plan = try Invocation.plan(all, from: SettingsTests.files(text)) as? ProbePlan else {
      throw UsageError("that is not a probe")
    }
    return plan
  }

  private func verify(_ arguments: [String], _ text: String) throws -> VerifyPlan {
    let all = ["verify", "f", "--checksum", "md5=\(digest)"] + arguments
    guard let plan = try Invocation.plan(all, from: SettingsTests.files(text)) as? VerifyPlan else {
      throw UsageError("that is not a verify")
    }
    return plan
  }

  private let digest = "00112233445566778899aabbccddeeff"

  @Test func `probe uses the settings that it knows, and ignores the rest`() throws {
    let text = """
      json
      remote-name = true
      connections = 3
      header = A: 1
      proxy = http://p:1
      directory = x
      quiet
      limit-rate = 5
      checksum = md5=\(digest)
      """
    let plan = try probe([], text)
    #expect(plan.json && plan.request.usesSuggestedName)
    #expect(plan.request.connections == 3)
    #expect(plan.request.headers.map(\.value) == ["1"])
    #expect(plan.managerOptions.proxy == "http://p:1")
    let own = try probe(
      ["--no-json", "--no-remote-name", "-x", "8", "-H", "a: 2", "--proxy", ""], text)
    #expect(try own == probe(["-H", "a: 2", "-x", "8", "--proxy", ""], ""))
    #expect(
      try probe(["--http2", "--cookie", "a=b"], "http1.1\nheader = Cookie: x").request
        == probe(["--http2", "--cookie", "a=b"], "").request)
  }

  @Test func `-q of put overrides verbose, and contradicts -v`() throws {
    func put(_ arguments: [String], _ text: String) throws -> PutPlan? {
      try Invocation.plan(
        ["put"] + arguments + ["a", "https://h/x"], from: SettingsTests.files(text)) as? PutPlan
    }
    #expect(try put(["-q"], "verbose") == put(["-q"], ""))
    #expect(try put(["-v"], "quiet") == put(["-v"], ""))
    let message = refusal(["put", "-q", "-v", "a", "https://h/x"], of: sources())
    #expect(message == "-q and -v contradict each other")
  }

  @Test(arguments: ["json", "verbose", "remote-name", "allow-unverified"])
  func `flags of probe can be switched off for one run`(key: String) throws {
    #expect(try probe([], key) != probe([], ""))
    #expect(try probe(["--no-\(key)"], key) == probe([], ""))
    #expect(try probe([], "\(key) = false") == probe([], ""))
  }

  @Test func `add ignores limit-rate, which is the limit of all transfers together`() throws {
    func add(_ arguments: [String]) throws -> AddPlan {
      let all = ["add"] + arguments + ["https://h/x"]
      guard
        let plan = try Invocation.plan(
          all, from: SettingsTests.files("limit-rate = 5\nconnections = 3")) as? AddPlan
      else { throw UsageError("that is not an add") }
      return plan
    }
    #expect(try add([]).requests.map(\.download?.rateLimit) == [nil])
    #expect(try add([]).requests.map(\.download?.connections) == [3])
    #expect(try add(["--limit-rate", "2K"]).requests.map(\.download?.rateLimit) == [2048])
    #expect(try add(["--limit-rate", "0"]).requests.map(\.download?.rateLimit) == [nil])
  }

  @Test func `a rate limit of 0 is none, as with curl and wget`() throws {
    for text in ["0", "0K", "none"] { #expect(try ArgumentValue.rate(text) == 0) }
    for arguments in [[], ["--limit-rate", "0"]] {
      let file = arguments.isEmpty ? "limit-rate = 0" : "limit-rate = 5"
      for command in ["get", "put", "serve"] {
        let rest: [String]
        switch command {
        case "serve": rest = []
        case "put": rest = ["a", "https://h/"]
        default: rest = ["https://h/x"]
        }
        let plan = try Invocation.plan(
          [command] + arguments + rest, from: SettingsTests.files(file))
        let options =
          (plan as? GetPlan)?.managerOptions ?? (plan as? PutPlan)?.managerOptions
          ?? (plan as? ServePlan)?.managerOptions
        #expect(try #require(options).rateLimit == nil, "\(command) \(arguments)")
      }
    }
    let sources = SettingsTests.files(
      "",
      ["/home/me/list": "https://h/a\n limit-rate=0\nhttps://h/b\n limit-rate=1K\nhttps://h/c\n"])
    let list = ["add", "--limit-rate", "2K", "-i", "/home/me/list"]
    let plan = try #require(try Invocation.plan(list, from: sources) as? AddPlan)
    #expect(plan.requests.map(\.download?.rateLimit) == [nil, 1024, 2048])
  }

  @Test func `add --put adds what put would send, and refuses options of downloads`() throws {
    func add(_ arguments: [String]) throws -> AddPlan {
      guard
        let plan = try Invocation.plan(
          ["add", "--put"] + arguments,
          from: SettingsTests.files("directory = d\nif-exists = skip\nconnections = 3")) as? AddPlan
      else { throw UsageError("that is not an add") }
      return plan
    }
    let plan = try add(["--if-exists", "fail", "--limit-rate", "2K", "a", "b", "https://h/d/"])
    let uploads = plan.requests.compactMap(\.upload)
    #expect(uploads.map(\.url.text) == ["https://h/d/a", "https://h/d/b"])
    #expect(uploads.allSatisfy { $0.precondition == .absent && $0.rateLimit == 2048 })
    // What the configuration says of it is about downloads.
    #expect(try add(["a", "https://h/x"]).requests.first?.upload?.ifExists == .overwrite)
    #expect(try add(["a", "tus+https://h/d/"]).requests.first?.upload?.method == .tus)
    for arguments in [
      ["-o", "x"], ["--checksum", "md5=\(digest)"], ["--if-exists", "rename"], ["-i", "list"],
      ["--id", ""], ["--group", ""],
    ] {
      #expect(throws: UsageError.self) { try add(arguments + ["a", "https://h/x"]) }
    }
  }

  @Test func `add adds forms and objects of S3 stores that put would send`() throws {
    let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]
    func uploads(_ command: String, _ arguments: [String]) throws -> [UploadRequest] {
      let plan = try Invocation.plan(
        [command] + arguments, from: CommandSources(environment: keys))
      if let plan = plan as? AddPlan { return plan.requests.compactMap(\.upload) }
      return (plan as? PutPlan)?.requests ?? []
    }
    for arguments in [
      ["--field", "n=v", "--form", "f=@a", "https://h/x"], ["a", "b", "s3://bucket/d/"],
      ["--s3-region", "r", "--if-exists", "fail", "a", "s3://bucket/k"],
      ["--if-exists", "update", "a", "s3://bucket/k"], ["--if-exists", "skip", "a", "https://h/x"],
      ["--if-exists", "overwrite", "a", "https://h/x"],
    ] {
      let added = try uploads("add", ["--put"] + arguments)
      #expect(added == (try uploads("put", arguments)))
      #expect(!added.isEmpty)
    }
    #expect(try uploads("add", ["--form", "f=@a", "https://h/x"]).first?.form.count == 1)
    for arguments in [
      ["--s3-region", "r", "https://h/x"], ["--field", "n=v", "https://h/x"],
      ["--form", "f=@a", "--run", "--", "true"], ["--form", "f=@a", "b", "https://h/x"],
      ["--form", "f=@a", "s3://bucket/k"], ["--form", "f=@a", "-o", "x", "https://h/x"],
    ] {
      #expect(throws: UsageError.self) { try uploads("add", arguments) }
    }
  }

  private static let ofDownloads = [
    "--output=x", "--directory=d", "--durability=relaxed", "--remote-name", "--start-over",
    "--keep-paths",
    "--max-filesize=1M", "--input-file=l", "--columns=url=a", "--input-format=csv",
    "--checksum=md5=00112233445566778899aabbccddeeff", "--allow-unverified", "--same-resource",
    "--decode", "--connections=2", "--min-split=1M", "--trust-redirects=h",
  ]
  private static let ofRequests = [
    "--if-exists=fail", "--limit-rate=1K", "--user=u", "--password-file=p", "--bearer-file=b",
    "--netrc", "--cookie=a=b", "--cookie-file=c", "--header=A: b", "--insecure",
    "--retries=1", "--retry-max-time=1m",
  ]

  @Test(arguments: ofDownloads)
  func `An option that an upload cannot obey is named, and nothing is added`(option: String) {
    let message = refusal(["add", option, "--put", "a", "https://h/x"])
    let name = option.prefix { $0 != "=" }
    #expect(message == "\(name) is for downloads; --put has none")
  }

  @Test(arguments: ofDownloads + ofRequests)
  func `An option that a program cannot obey is named, and nothing is added`(option: String) {
    let message = refusal(["add", option, "--run", "--", "true"])
    let name = option.prefix { $0 != "=" }
    #expect(message == "\(name) is for downloads and uploads; --run is neither")
  }

  @Test func `A program ignores the configuration file`() throws {
    let sources = SettingsTests.files("directory = d\nheader = A: b\nconnections = 3")
    let plan = try Invocation.plan(["add", "--run", "--", "true", "-x"], from: sources) as? AddPlan
    #expect(plan?.requests == [TransferRequest.step(program: ["true", "-x"])])
  }

  @Test func `verify uses quiet, but not the digest`() throws {
    let text = "quiet\nconnections = 3\nchecksum = sha-1=\(digest)00112233"
    #expect(try verify([], text).quiet)
    #expect(try verify(["--no-quiet"], text) == verify([], ""))
  }

  @Test func `an invalid file stops them too, but not help`() throws {
    let known = SettingsTests.files("conections = 3")
    for arguments in [["verify", "f", "--checksum", "md5=\(digest)"], ["probe", "https://h/x"]] {
      #expect(refusal(arguments, of: known)?.hasPrefix("\(SettingsTests.path): line 1: ") == true)
    }
    for arguments in [["get", "-h"], ["help", "get"], ["--version"]] {
      #expect(refusal(arguments, of: known) == nil)
    }
    let proxy = SettingsTests.files("quiet\nproxy = ftp://p")
    let message = refusal(["probe", "https://h/x"], of: proxy)
    #expect(message?.hasPrefix("\(SettingsTests.path): line 2: proxy: ") == true)
  }
}
