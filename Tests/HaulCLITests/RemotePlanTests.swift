import HaulCLI
import HaulCore
import Testing

/// Plans of `haul get` with `-o` on another server.
@Suite struct RemotePlanTests {
  private static let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret"]
  private static let source = "https://u:p@s.example/d/f%20g.bin?sig=1"

  private func invocation(
    _ arguments: [String], files: [String: String] = [:]
  ) throws -> any CommandPlan {
    let sources = CommandSources(
      environment: Self.keys, read: { (path, _) throws(UsageError) in files[path] })
    return try Invocation.plan(arguments, from: sources)
  }

  private func request(_ arguments: String...) throws -> UploadRequest {
    guard let plan = try invocation(["get"] + arguments) as? PutPlan else {
      throw UsageError("that is not an upload")
    }
    return try #require(plan.requests.first)
  }

  @Test func `an object of a store; each server has its own secrets`() throws {
    let request = try request(
      "-o", "s3://bucket/k", Self.source, "-H", "A: b", "--checksum", "md5=" + zeros,
      "--retries", "3", "--json", "--max-filesize", "5M", "-x", "2", "--s3-region", "eu-west-1")
    #expect(request.method == .s3)
    #expect(request.url.absoluteString == "https://bucket.s3.eu-west-1.amazonaws.com/k")
    #expect(request.url.credentials == .init(user: "id", password: "s3cret"))
    #expect(request.headers.isEmpty && !request.allowInsecure)
    #expect(request.retry.retries == 3)
    let download = try #require(request.download)
    #expect(download.url == (try ResourceURL(Self.source)))
    #expect(download.destination == .stream)
    #expect(download.headers.map(\.name) == ["A"])
    #expect(download.checksums.count == 1)
    #expect((download.maximumSize, download.connections) == (5 << 20, 2))
    try TransferRequest(.upload(request)).checkPaths()
  }

  private let zeros = String(repeating: "0", count: 32)

  @Test(arguments: [
    ("s3://bucket/d/", UploadRequest.Method.s3, "/d/f%20g.bin"),
    ("s3://bucket/", .s3, "/f%20g.bin"), ("https://h/d/", .resumable, "/d/f%20g.bin"),
    ("dav+https://h/d/", .webDAV, "/d/f%20g.bin"), ("dav://h/x", .webDAV, "/x"),
    ("tus+https://h/d/", .tus, "/d/"),
  ])
  func `below a slash it keeps its name`(output: String, method: UploadRequest.Method, path: String)
    throws
  {
    let request = try request("-o", output, Self.source)
    #expect((request.method, request.url.path) == (method, path))
    #expect(request.download?.url == (try ResourceURL(Self.source)))
  }

  @Test func `--if-exists fail asks for the absence of the object`() throws {
    #expect(
      try request("-o", "s3://bucket/k", Self.source, "--if-exists", "fail").precondition
        == .absent)
    let plain = try request("-o", "https://h/x", Self.source, "--if-exists", "fail")
    #expect((plain.precondition, plain.method) == (.absent, .put))
  }

  @Test(arguments: [
    ["-d", "x"], ["--if-exists", "skip"], ["--if-exists", "rename"], ["--durability", "relaxed"],
    ["--keep-paths"], ["--remote-name"], ["--start-over"], ["--allow-unverified"], ["--decode"],
    ["--min-split", "1M"], ["--cache"], ["https://other.example/g"],
  ])
  func `options for files of this machine are refused`(arguments: [String]) {
    #expect(throws: UsageError.self) {
      try invocation(["get", "-o", "s3://bucket/k", Self.source] + arguments)
    }
  }

  @Test func `a place on another server is no directory`() throws {
    for arguments in [
      ["-d", "s3://bucket/d/", Self.source],
      ["-i", "list", "-o", "x"], ["-i", "list", "https://h/without-place"],
      ["-o", "tus+https://h/", "--if-exists", "fail", Self.source],
      ["-o", "https://h/x", "--s3-region", "r", Self.source], ["-o", "s3://bucket", Self.source],
      ["-o", "x", "--s3-region", "r", Self.source],
    ] {
      #expect(throws: UsageError.self, "\(arguments)") {
        try invocation(
          ["get"] + arguments, files: ["list": "https://h/f\n  out=s3://bucket/k\n"])
      }
    }
  }

  @Test func `what the configuration says about files of this machine does not count`() throws {
    let sources = CommandSources(
      environment: Self.keys.merging(["HOME": "/h"]) { $1 },
      read: { (path, _) throws(UsageError) in
        path == "/h/.config/haul/haul.conf"
          ? "directory = x\nif-exists = rename\ncache = true\n" : nil
      })
    let arguments = ["get", "-o", "s3://bucket/k", Self.source]
    #expect(try Invocation.plan(arguments, from: sources) is PutPlan)
  }

  @Test func `add sends it in the background`() throws {
    guard
      let plan = try invocation([
        "add", "-o", "s3://bucket/k", Self.source, "--s3-region", "r", "--group", "g",
        "--limit-rate", "1M",
      ]) as? AddPlan
    else { throw UsageError("that is not an addition") }
    let request = try #require(plan.requests.first)
    #expect((request.group, request.upload?.rateLimit) == ("g", 1 << 20))
    #expect(request.upload?.download?.url == (try ResourceURL(Self.source)))
    try request.checkPaths()
  }
}
