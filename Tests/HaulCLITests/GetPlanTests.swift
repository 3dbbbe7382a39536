import HaulCLI
import HaulCore
import Testing

/// The meaning of the options of get.
@Suite struct GetPlanTests {
  struct RequestCase: Sendable, CustomTestStringConvertible {
    let arguments: [String]
    let change: @Sendable (inout DownloadRequest) -> Void

    init(_ arguments: String..., change: @escaping @Sendable (inout DownloadRequest) -> Void) {
      self.arguments = arguments
      self.change = change
    }

    var testDescription: String { arguments.joined(separator: " ") }
  }

  static let requestCases: [RequestCase] = [
    RequestCase("-o", "a.iso") { $0.destination = .file("a.iso") },
    RequestCase("-o", "-") { $0.destination = .stream },
    RequestCase("-o-") { $0.destination = .stream },
    RequestCase("-oa.iso") { $0.destination = .file("a.iso") },
    RequestCase("--output=/x/a.iso") { $0.destination = .file("/x/a.iso") },
    RequestCase("-d", "/x") { $0.destination = .directory("/x") },
    RequestCase("--directory", "y") { $0.destination = .directory("y") },
    RequestCase("-d", "y/", "-o", "a") {
      $0.destination = .file("y/a")
      $0.createsDirectories = true
    },
    RequestCase("-d", "y", "-o", "a") {
      $0.destination = .file("y/a")
      $0.createsDirectories = true
    },
    RequestCase("--if-exists", "update") { $0.ifExists = .update },
    RequestCase("--if-exists", "skip") { $0.ifExists = .skip },
    RequestCase("--if-exists", "rename") { $0.ifExists = .rename },
    RequestCase("--if-exists=overwrite") { $0.ifExists = .overwrite },
    RequestCase("--if-exists", "fail") { $0.ifExists = .fail },
    RequestCase("--durability", "relaxed") { $0.durability = .relaxed },
    RequestCase("--durability", "strict") { $0.durability = .strict },
    RequestCase("--start-over") { $0.startOver = true },
    RequestCase("--max-filesize", "2G") { $0.maximumSize = 2 << 30 },
    RequestCase("--checksum", "crc32c=E3069283") {
      $0.checksums = [Checksum(.crc32c, bytes: [0xE3, 0x06, 0x92, 0x83])].compactMap { $0 }
    },
    RequestCase("--allow-unverified") { $0.allowUnverified = true },
    RequestCase("-x", "3") { $0.connections = 3 },
    RequestCase("-x3") { $0.connections = 3 },
    RequestCase("--connections", "3") { $0.connections = 3 },
    RequestCase("--min-split", "512k") { $0.minimumSplit = 512 << 10 },
    RequestCase("-H", "A: b", "--header=C:  d e \t") { $0.headers = [("A", "b"), ("C", "d e")] },
    RequestCase("-H", "Empty:") { $0.headers = [("Empty", "")] },
    RequestCase("--insecure") { $0.allowInsecure = true },
    RequestCase("--retries", "0") {
      $0.retry.retries = 0
      $0.retry.isShortAtFirstContact = false
    },
    RequestCase("--retry-max-time", "5m") { $0.retry.maximumTimeWithoutProgress = .seconds(300) },
    RequestCase("--retry-max-time", "1.5h") {
      $0.retry.maximumTimeWithoutProgress = .seconds(5400)
    },
  ]

  @Test(arguments: requestCases)
  func `an option changes only what it names in the request`(_ example: RequestCase) throws {
    guard let plan = try invocation(["get", "https://h/x"] + example.arguments) as? GetPlan else {
      Issue.record("not a get")
      return
    }
    var wanted = DownloadRequest(url: try ResourceURL("https://h/x"), to: .directory("."))
    example.change(&wanted)
    #expect(plan.requests == [wanted])
  }

  @Test func `without options, the library's defaults hold, in the current directory`() throws {
    let plan = try getPlan("https://h/a", "http://h/b")
    let urls = [try ResourceURL("https://h/a"), try ResourceURL("http://h/b")]
    #expect(plan.requests == urls.map { DownloadRequest(url: $0, to: .directory(".")) })
    #expect(plan.managerOptions == ManagerOptions())
    #expect(plan.output == OutputOptions())
  }

  struct LimitCase: Sendable, CustomTestStringConvertible {
    let arguments: [String]
    let change: @Sendable (inout ManagerOptions) -> Void

    init(_ arguments: String..., change: @escaping @Sendable (inout ManagerOptions) -> Void) {
      self.arguments = arguments
      self.change = change
    }

    var testDescription: String { arguments.joined(separator: " ") }
  }

  static let limitCases: [LimitCase] = [
    LimitCase("-j", "2") { $0.maximumActive = 2 },
    LimitCase("-j12") { $0.maximumActive = 12 },
    LimitCase("--max-active=100") {
      $0.maximumActive = 100
      $0.maximumConnections = 100
    },
    LimitCase("--max-per-host", "20") {
      $0.maximumActivePerHost = 20
      $0.connectionsPerHost = 20
    },
    LimitCase("-x", "100") {
      $0.connectionsPerHost = 100
      $0.maximumConnections = 100
    },
    LimitCase("--limit-rate", "2M") { $0.rateLimit = 2 << 20 },
    LimitCase("--limit-rate=1000") { $0.rateLimit = 1000 },
    LimitCase("--connect-timeout", "0.2") { $0.connectTimeout = .milliseconds(200) },
    LimitCase("--idle-timeout", "90s") { $0.idleTimeout = .seconds(90) },
    LimitCase("--cacert", "ca.pem") { $0.certificateAuthorities = "ca.pem" },
  ]

  @Test(arguments: limitCases)
  func `an option changes only what it names in the limits of the run`(_ example: LimitCase) throws
  {
    guard let plan = try invocation(["get", "https://h/x"] + example.arguments) as? GetPlan else {
      Issue.record("not a get")
      return
    }
    var wanted = ManagerOptions()
    example.change(&wanted)
    #expect(plan.managerOptions == wanted)
  }

  @Test func `output options are used`() throws {
    #expect(try getPlan("https://h/x", "--json").output.json)
    #expect(try getPlan("https://h/x", "-q").output.quiet)
    #expect(try getPlan("https://h/x", "--quiet", "--progress", "none").output.quiet)
    #expect(try getPlan("https://h/x", "-v").output.verbose)
    #expect(try getPlan("https://h/x", "--verbose").output.verbose)
    for mode in OutputOptions.ProgressMode.allCases {
      #expect(try getPlan("https://h/x", "--progress", mode.rawValue).output.progress == mode)
    }
  }

  @Test func `A worker drains for 25 s, or as long as is said`() throws {
    #expect(try getPlan("https://h/x").output.drain == nil)
    #expect(try getPlan("https://h/x", "--worker").output.drain == .seconds(25))
    #expect(try getPlan("https://h/x", "--worker", "--drain", "0").output.drain == .zero)
    #expect(try getPlan("https://h/x", "--worker", "--drain", "2m").output.drain == .seconds(120))
    let put = try invocation(["put", "--worker", "f", "https://h/x"]) as? PutPlan
    #expect(put?.output.drain == .seconds(25))
    #expect(refusal(["get", "https://h/x", "--drain", "5"]) == "--drain is for --worker")
    #expect(refusal(["get", "https://h/x", "--worker", "--drain", "x"])?.contains("time") == true)
  }

  @Test func `header fields can come from a file, one per line`() throws {
    let arguments = ["get", "-H", "@secrets", "-H", "C: d", "https://h/x"]
    let invocation = try Invocation.plan(arguments) { (path) throws(UsageError) in
      guard path == "secrets" else { throw UsageError("no file") }
      return "Authorization: Bearer t\r\n\nA:b\n"
    }
    guard let plan = invocation as? GetPlan else {
      Issue.record("not a get")
      return
    }
    var wanted = plan.requests[0]
    wanted.headers = [("Authorization", "Bearer t"), ("A", "b"), ("C", "d")]
    #expect(plan.requests == [wanted])
  }

  @Test func `verify takes a file and a digest`() throws {
    let checksum = try #require(Checksum("md5=00112233445566778899aabbccddeeff"))
    let arguments = ["verify", "-q", "f", "--checksum", "MD5=00112233445566778899AABBCCDDEEFF"]
    guard let plan = try invocation(arguments) as? VerifyPlan else {
      Issue.record("not a verify")
      return
    }
    #expect((plan.path, plan.checksums) == ("f", [checksum]) && plan.quiet)
  }

  @Test(arguments: [
    (["--help"], "haul get https://"), (["get", "--help"], "Examples:"),
    (["verify", "-h"], "Examples:"), (["help", "get"], "--limit-rate"),
    (["--version"], "haul 0"), (["get", "--version"], "haul 0"),
  ])
  func `help and version are text for standard output`(arguments: [String], part: String) throws {
    guard let text = (try invocation(arguments) as? PrintedText)?.text else {
      Issue.record("nothing to print")
      return
    }
    #expect(text.contains(part))
  }

  @Test func `-j above the limit of one host warns once, unless that limit was set too`() throws {
    let urls = (0..<6).map { "https://h/\($0)" }
    #expect(
      try plan(["-j", "16"] + urls, sources()).notes == [
        "at most 4 files of one host run at once; --max-per-host 16 allows more"
      ])
    #expect(try plan(["-j", "16", "--max-per-host", "8"] + urls, sources()).notes == [])
    #expect(try plan(["-j", "16"] + urls.prefix(4), sources()).notes == [])
    #expect(try plan(urls, sources()).notes == [])
    let hosts = (0..<16).map { "https://h\($0)/f" }
    #expect(try plan(["-j", "16"] + hosts, sources()).notes == [])
  }

  @Test func `standard output has several names, and /dev/null discards the bytes`() throws {
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
      let plan = try plan(["-o", name, "https://h/f"], sources())
      #expect(plan.requests.first?.destination == .stream && plan.output.streams)
      #expect(!plan.output.discards)
    }
    let nowhere = try plan(["-o", "/dev/null", "--json", "https://h/f"], sources())
    #expect(nowhere.output.streams && nowhere.output.discards)
  }
}
