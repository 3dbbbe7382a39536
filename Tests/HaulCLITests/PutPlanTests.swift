import HaulCLI
import HaulCore
import Testing

/// The meaning of the arguments of put.
@Suite struct PutPlanTests {
  private func plan(_ arguments: String...) throws -> PutPlan {
    guard let plan = try invocation(["put"] + arguments) as? PutPlan else {
      throw UsageError("that is not a put")
    }
    return plan
  }

  @Test func `one file goes to exactly that address`() throws {
    let request = try #require(try plan("a b.txt", "https://h/x").requests.first)
    #expect(request.source == .file("a b.txt"))
    #expect(request.url == (try ResourceURL("https://h/x")))
    #expect(request.method == .resumable)
    #expect(request.precondition == .none)
  }

  @Test
  func `below an address with a slash at its end, each file keeps its name, encoded`() throws {
    let requests = try plan("d/a b?.txt", "/é", "https://u:p@h/x/?k=v").requests
    #expect(
      requests.map(\.url.absoluteString) == [
        "https://h/x/a%20b%3F.txt?k=v", "https://h/x/%C3%A9?k=v",
      ])
    #expect(requests.allSatisfy { $0.url.credentials?.password == "p" })
  }

  @Test func `two files of one name are refused by their paths`() {
    let message = refusal(["put", "a/x", "a/y", "b/x", "https://h/d/"])
    #expect(message?.hasPrefix("a/x and b/x have the same name") == true)
  }

  @Test func `a name that looks like an address or like a parent stays a name`() throws {
    #expect(
      try plan("x:y", "https://h/d/").requests.first?.url.absoluteString == "https://h/d/x%3Ay")
    #expect(refusal(["put", "..", "https://h/d/"])?.contains("names no file") == true)
  }

  @Test func `method, conditions, header fields and retries`() throws {
    let post = try plan("f", "https://h/x", "--method", "post", "-H", "A: b", "--retries", "3")
    let request = try #require(post.requests.first)
    #expect(request.method == .post)
    #expect(request.headers.map(\.name) == ["A"])
    #expect(request.retry.retries == 3)
    let absent = try plan("f", "https://h/x", "--if-exists", "fail").requests[0]
    #expect((absent.precondition, absent.method) == (.absent, .put))
    #expect(try plan("f", "https://h/x", "--method", "put").requests[0].method == .put)
    #expect(
      try plan("f", "https://h/x", "--if-match", "\"a\"").requests[0].precondition
        == .entityTag("\"a\""))
  }

  @Test func `a form has its fields first, then its files`() throws {
    let plan = try plan(
      "--form", "a=@d/x=y", "--field", "n=v=w", "--form", "b=@f", "--field", "e=", "https://h/x")
    let request = try #require(plan.requests.first)
    #expect((request.method, request.source.files) == (.post, ["d/x=y", "f"]))
    #expect(
      request.form == [
        FormPart("n", .text("v=w")), FormPart("e", .text("")), FormPart("a", .file("d/x=y")),
        FormPart("b", .file("f")),
      ])
  }

  @Test(arguments: [
    ["--field", "n=v", "https://h/x"], ["--form", "a=@f"],
    ["--form", "a=@f", "g", "https://h/x"],
    ["--form", "a=f", "https://h/x"], ["--form", "a", "https://h/x"],
    ["--form", "=@f", "https://h/x"], ["--form", "a=@", "https://h/x"],
    ["--form", "a=@f", "--field", "n", "https://h/x"], ["--form", "a=@f", "tus+https://h/x"],
    ["--form", "a=@f", "--method", "put", "https://h/x"],
    ["--form", "a=@f", "--if-exists", "fail", "https://h/x"],
  ])
  func `a form that cannot be sent is refused`(arguments: [String]) {
    #expect(refusal(["put"] + arguments) != nil)
  }

  @Test(arguments: [
    ("https://h/x", UploadRequest.Method.resumable, "https://h/x"),
    ("tus+https://h/x/", .tus, "https://h/x/"), ("dav+https://h/x", .webDAV, "https://h/x"),
    ("DAV+https://h/X", .webDAV, "https://h/X"),
  ])
  func `- is standard input, alone and with the whole address`(
    address: String, method: UploadRequest.Method, url: String
  ) throws {
    let plan = try plan("-", address)
    let request = try #require(plan.requests.first)
    #expect((request.source, request.method) == (.stream(nil), method))
    #expect(request.url.absoluteString == url)
    #expect(plan.output.input == 0)
  }

  @Test(arguments: [
    ("/dev/stdin", Int32?(0)), ("/dev/fd/63", 63), ("/proc/self/fd/0", 0), ("/dev/fd/x", nil),
    ("/dev/fd/-1", nil), ("/dev/fd/+1", nil), ("./dev/fd/3", nil),
  ])
  func `what a shell writes for an open descriptor is sent from it`(path: String, number: Int32?)
    throws
  {
    #expect(try plan(path, "https://h/x").output.input == number)
  }

  @Test func `a file may have the name of standard input`() throws {
    let plan = try plan("./-", "https://h/x")
    #expect(plan.requests.first?.source == .file("./-"))
    #expect(plan.output.input == nil)
  }

  @Test(arguments: [
    ["put", "-", "https://h/x/"], ["put", "-", "s3://b/d/"], ["put", "-", "s3://b"],
    ["put", "-", "f", "https://h/x/"], ["put", "f", "-", "https://h/x/"],
    ["put", "-", "-", "tus+https://h/x/"], ["put", "--form", "a=@-", "https://h/x"],
    ["add", "--put", "-", "https://h/x"], ["add", "--put", "f", "-", "https://h/x/"],
  ])
  func `standard input is refused where it cannot be sent`(arguments: [String]) {
    #expect(refusal(arguments) != nil)
  }

  private func tree(
    _ arguments: String..., entries: [UploadTree.Entry]
  ) throws -> [UploadRequest] {
    let sources = CommandSources(tree: { (path, _) throws(UsageError) in
      path.hasPrefix("d") ? UploadTree(entries) : nil
    })
    guard let plan = try Invocation.plan(["put"] + arguments, from: sources) as? PutPlan else {
      throw UsageError("that is not a put")
    }
    return plan.requests
  }

  @Test func `a directory keeps its name, and each name in it is encoded by itself`() throws {
    let entries = [UploadTree.Entry(["a b"]), .init(["x", "é?"]), .init(["x", "y:z", "f"])]
    let requests = try tree("e/../d x", "f", "https://u:p@h/r/?k=v", entries: entries)
    #expect(requests.map(\.url.absoluteString) == ["https://h/r/d%20x?k=v", "https://h/r/f?k=v"])
    let below = try tree("d", "f", "https://u:p@h/r/?k=v", entries: entries)
    #expect(
      below.map(\.url.absoluteString) == [
        "https://h/r/d/a%20b?k=v", "https://h/r/d/x/%C3%A9%3F?k=v", "https://h/r/d/x/y%3Az/f?k=v",
        "https://h/r/f?k=v",
      ])
    #expect(below.map(\.source) == ["d/a b", "d/x/é?", "d/x/y:z/f", "f"].map { .file($0) })
    // Roots would make it the upload of a client over TCP, which gets no client certificate.
    #expect(below.map(\.listedIn) == ["d", "d", "d", nil] && below.allSatisfy { $0.roots == nil })
    #expect(below.allSatisfy { $0.url.credentials?.password == "p" })
    // What a link leads to may be outside.
    let linked = try tree("d", "https://h/r/", entries: [.init(["l"], isLinked: true)])
    #expect(linked.map(\.listedIn) == [nil])
    let content = try tree("d/", "https://h/r/", entries: entries)
    #expect(content.first?.url.absoluteString == "https://h/r/a%20b")
  }

  /// Names of one beginning and of several bytes, and a directory.
  private static let many =
    (1...9000).map { UploadTree.Entry(["é\($0 / 100)", "名前 \($0)"], identity($0)) }
    + [UploadTree.Entry(["y"], isDirectory: true, identity(1)), .init(["z"])]

  private static func identity(_ number: Int) -> FileIdentity? {
    number.isMultiple(of: 5)
      ? nil : FileIdentity(device: UInt64(number / 3000), inode: .max / UInt64(number))
  }

  @Test func `a tree has what was put into it`() {
    #expect(Array(UploadTree(Self.many)) == Self.many)
    let linked = [UploadTree.Entry(["a"], Self.identity(7), isLinked: true), .init(["b"])]
    #expect(Array(UploadTree(linked)) == linked)
    #expect(Array(UploadTree()) == [])
  }

  @Test(arguments: [["s3://b/k/"], ["dav://h/r/"], ["https://h/r/?k=v"]])
  func `of many files the first ones are in memory, and the others follow in their order`(
    address: [String]
  ) throws {
    func plan(window: Int) throws -> PutPlan {
      var sources = CommandSources(
        environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret"],
        tree: { (path, _) throws(UsageError) in path == "d" ? UploadTree(Self.many) : nil })
      sources.window = window
      let invocation = try Invocation.plan(["put", "f", "d", "g"] + address, from: sources)
      return try #require(invocation as? PutPlan)
    }
    let whole = try plan(window: 10_000)
    let long = try plan(window: 50)
    #expect(whole.rest == nil && whole.requests.count >= 9003)
    #expect(long.requests == Array(whole.requests.prefix(50)))
    let rest = try #require(long.rest).all()
    #expect(
      rest.map(\.request) == whole.requests.dropFirst(50).map { TransferRequest(.upload($0)) })
    #expect(rest.map(\.index) == Array(51...whole.requests.count))
  }

  @Test func `a name that comes twice is refused, wherever it is among many`() {
    func refusal(_ arguments: String...) -> String? {
      do {
        var sources = CommandSources(tree: { (path, _) throws(UsageError) in
          path.hasPrefix("d") ? UploadTree(Self.many) : nil
        })
        sources.window = 50
        _ = try Invocation.plan(["put"] + arguments + ["https://h/r/"], from: sources)
        return nil
      } catch {
        return error.message
      }
    }
    #expect(refusal("f", "d/", "g") == nil)
    #expect(
      refusal("d/", "x/z")
        == "d/z and x/z have the same name; upload them to different addresses")
    #expect(refusal("x/z", "d/")?.hasPrefix("x/z and d/z have") == true)
    #expect(refusal("d/", "d//")?.hasPrefix("d/é0/名前 1 and d//é0/名前 1 have") == true)
  }

  @Test func `only WebDAV makes empty directories`() throws {
    let entries = [UploadTree.Entry(["e"], isDirectory: true), .init(["f"])]
    let plain = try tree("d", "https://h/r/", entries: entries)
    #expect(plain.map(\.source) == [.file("d/f")])
    let requests = try tree("d", "dav://h/r/", entries: entries)
    #expect(requests.map(\.source) == [.file("d/e/"), .file("d/f")])
    #expect(requests.map(\.url.path) == ["/r/d/e/", "/r/d/f"])
    #expect(throws: UsageError.self) {
      try tree("d", "https://h/r/", entries: [UploadTree.Entry(["e"], isDirectory: true)])
    }
  }

  @Test func `a directory needs an address that ends with a slash, and a protocol with names`() {
    for arguments in [["https://h/r"], ["tus+https://h/r/"], ["https://h/", "--method", "post"]] {
      #expect(throws: UsageError.self) {
        let sources = CommandSources(tree: { (_, _) throws(UsageError) in
          UploadTree([.init(["f"])])
        })
        _ = try Invocation.plan(["put", "d"] + arguments, from: sources)
      }
    }
  }

  @Test(arguments: [
    ("tus+https://h/x/", UploadRequest.Method.tus, "https://h/x/"),
    ("dav+https://h/x/", .webDAV, "https://h/x/f"), ("dav+http://h/x", .webDAV, "http://h/x"),
    ("dav://h/x/", .webDAV, "http://h/x/f"), ("davs://u:p@h:81/x", .webDAV, "https://h:81/x"),
  ])
  func `the scheme of the address may name the protocol`(
    address: String, method: UploadRequest.Method, url: String
  ) throws {
    let request = try #require(try plan("f", address).requests.first)
    #expect((request.method, request.url.absoluteString) == (method, url))
    #expect(refusal(["put", "f", address, "--method", "post"]) != nil)
    #expect(refusal(["put", "f", address, "--if-match", "\"a\""]) != nil)
  }

  @Test func `options of downloads are refused, and ignored in the configuration file`() throws {
    let upload = ["put", "f", "https://h/x"]
    let message = refusal(upload + ["--http2"])
    #expect(message == "--http2 is for downloads; put speaks HTTP/1.1")
    #expect(
      refusal(upload + ["--trust-redirects", "a"])
        == "--trust-redirects is for downloads; put has none")
    let sources = SettingsTests.files("http2\ntrust-redirects = a")
    let plan = try Invocation.plan(upload, from: sources) as? PutPlan
    #expect(try plan == self.plan("f", "https://h/x"))
  }

  @Test(arguments: [
    [], ["f"], ["https://h/x"], ["a", "b", "https://h/x"], ["d/f", "e/f", "https://h/x/"],
    ["f", "h.example/x"], ["", "https://h/x"],
    ["f", "https://h/x", "--method", "patch"], ["f", "https://h/x", "--if-exists", "rename"],
    ["f", "https://h/x", "--if-match", "W/\"a\""], ["f", "https://h/x", "--if-match", "a"],
    ["f", "https://h/x", "--method", "post", "--if-exists", "fail"],
    ["f", "https://h/x", "--if-match", "\"a\"", "--if-exists", "fail"],
    ["f", "https://h/x", "--if-match", "\"a\"", "--if-exists", "update"],
  ])
  func `contradictions and missing parts are refused`(arguments: [String]) {
    #expect(refusal(["put"] + arguments) != nil)
  }

  @Test(arguments: UploadRequest.IfExists.allCases)
  func `what the server has may decide whether a file is sent`(
    way: UploadRequest.IfExists
  ) throws {
    let option = ["--if-exists", way.rawValue]
    for (address, method) in [
      ("https://h/x", way == .overwrite ? .resumable : .put), ("dav+https://h/x", .webDAV),
      ("s3://bucket/k", .s3),
    ] as [(String, UploadRequest.Method)] {
      let plan = try invocation(["put", "f", address] + option) as? PutPlan
      let request = try #require(plan?.requests.first)
      #expect((request.ifExists, request.method) == (way, method), "\(address)")
      #expect(request.precondition == .none)
    }
    let place = refusal(["put", "f", "tus+https://h/"] + option)
    #expect(place?.contains("the server decides where the file goes") == true)
    #expect(refusal(["put", "f", "https://h/", "--method", "post"] + option) == place)
    #expect(refusal(["put", "--form", "a=@f", "https://h/"] + option) != nil)
    for address in ["https://h/x", "s3://bucket/k"] {
      let stream = refusal(["put", "-", address] + option)
      #expect((stream?.contains("read only once") == true) == (way != .overwrite))
    }
  }
}
