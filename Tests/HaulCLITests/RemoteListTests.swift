import HaulCLI
import HaulCore
import Testing

/// Plans of `haul get` of a list with `-o` on another server.
@Suite struct RemoteListTests {
  private func plan(_ list: String, _ arguments: String...) throws -> PutPlan {
    let sources = CommandSources(
      environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret"],
      read: { (path, _) throws(UsageError) in path == "list" ? list : nil })
    guard
      let plan = try Invocation.plan(["get", "-i", "list"] + arguments, from: sources) as? PutPlan
    else { throw UsageError("that is not an upload") }
    return plan
  }

  private func targets(_ list: String, _ output: String) throws -> [String] {
    try plan(list, "-o", output, "--s3-endpoint", "http://s").requests.map(\.url.absoluteString)
  }

  private func refusal(_ list: String, _ arguments: String...) -> String? {
    do {
      let sources = CommandSources(
        environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret"],
        read: { (path, _) throws(UsageError) in path == "list" ? list : nil })
      _ = try Invocation.plan(["get", "-i", "list"] + arguments, from: sources)
      return nil
    } catch {
      return error.message
    }
  }

  private static let two = "https://a.example/d/x%20y.bin\nhttp://b.example:81/z\n"

  @Test(arguments: [
    ("s3://b/d/", ["http://s/b/d/x%20y.bin", "http://s/b/d/z"]),
    ("s3://b/{host}/{name}", ["http://s/b/a.example/x%20y.bin", "http://s/b/b.example/z"]),
    ("s3://b/{index}", ["http://s/b/1", "http://s/b/2"]),
    ("s3://b/{index:3}-{name}", ["http://s/b/001-x%20y.bin", "http://s/b/002-z"]),
    ("s3://b/{sha256:2}/", ["http://s/b/f1/x%20y.bin", "http://s/b/b5/z"]),
    ("s3://b/{{{name}}}", ["http://s/b/%7Bx%20y.bin%7D", "http://s/b/%7Bz%7D"]),
  ])
  func `each file has its name, or what the fields make`(output: String, expected: [String]) throws
  {
    #expect(try targets(Self.two, output) == expected)
  }

  @Test(arguments: ["..", "."])
  func `a value does not lead out of the place`(value: String) {
    let sources = CommandSources(
      read: { (_, _) throws(UsageError) in "url,cat\nhttps://h/f,\(value)\n" })
    for output in ["http://h/put/{cat}/{name}", "dav://h/box/{cat}/", "tus+http://h/put/{cat}/x"] {
      #expect(throws: UsageError.self) {
        try Invocation.plan(["get", "-i", "l.csv", "-o", output], from: sources)
      }
    }
  }

  @Test func `a field that is a column too must say which is meant`() throws {
    let digest = String(repeating: "0a", count: 32)
    func targets(_ name: String, _ value: String, _ output: String) throws -> [String]? {
      let sources = CommandSources(
        read: { (_, _) throws(UsageError) in "url,\(name)\nhttps://h/f,\(value)\n" })
      let plan = try Invocation.plan(["get", "-i", "l.csv", "-o", output], from: sources)
      return (plan as? PutPlan)?.requests.map(\.url.absoluteString)
    }
    for (name, value) in [("sha256", digest), ("sha256", ""), ("name", "x"), ("index", "7")] {
      #expect(throws: UsageError.self) { try targets(name, value, "https://h/p/{\(name)}") }
    }
    let ofList = try targets("sha256", digest, "https://h/p/{column:sha256}")
    #expect(ofList == ["https://h/p/\(digest)"])
    let ofAddress = try targets("sha256", digest, "https://h/p/{url:sha256:4}")
    #expect(ofAddress == (try targets("note", "x", "https://h/p/{sha256:4}")))
    #expect(try targets("name", "x", "https://h/p/{column:name}") == ["https://h/p/x"])
  }

  @Test func `columns that -o names are used`() throws {
    let sources = CommandSources(
      read: { (_, _) throws(UsageError) in "url,cat,more\nhttps://h/f,x,y\n" })
    let words = ["get", "-i", "l.csv", "-o", "https://h/{cat}/f"]
    let plan = try Invocation.plan(words, from: sources)
    let notes = (plan as? PutPlan)?.notes ?? []
    #expect(notes.contains("l.csv: columns that are used for nothing: more"))
  }

  @Test func `a name in an address is percent-encoded`() throws {
    let plan = try plan(Self.two, "-o", "dav+https://h/{host}/{index}-{name}")
    #expect(
      plan.requests.map(\.url.absoluteString)
        == ["https://h/a.example/1-x%20y.bin", "https://h/b.example/2-z"])
    #expect(plan.requests.allSatisfy { $0.method == .webDAV })
  }

  @Test func `out is a name below -o, or a whole place`() throws {
    let list = "https://h/f\n out=sub/g\n checksum=md5=\(zeros)\n header=A: b\n limit-rate=1M\n"
    let request = try #require(
      try plan(list, "-o", "s3://b/d/", "--s3-endpoint", "http://s").requests.first)
    #expect(request.url.absoluteString == "http://s/b/d/sub/g")
    #expect(request.download?.checksums.count == 1)
    #expect(request.download?.headers.map(\.name) == ["A"])
    #expect(request.rateLimit == 1 << 20)
    let whole = try plan("https://h/f\n out=s3://bucket/k\nhttps://h/g\n out=dav+https://h/\n")
    #expect(whole.requests.map(\.method) == [.s3, .webDAV])
    #expect(whole.requests.map(\.url.path) == ["/k", "/g"])
  }

  private let zeros = String(repeating: "0", count: 32)

  @Test func `a repeated line is sent once, and the others keep their numbers`() throws {
    let plan = try plan("https://h/f\nhttps://h/f\nhttps://h/g\n", "-o", "s3://bucket/d/")
    #expect(plan.requests.map(\.url.path) == ["/d/f", "/d/g"])
    #expect(plan.indices == [1, 3])
    #expect(
      plan.notes == ["list: line 2: https://h/f is given twice (list: line 1) and is sent once"])
  }

  @Test(arguments: [
    (Self.two, "s3://b/k", "also belongs to"),
    ("https://h/d/f\nhttps://h/e/f\n", "s3://b/", "also belongs to"),
    (Self.two, "s3://b/{nam}/", "there is no column {nam}"),
    (Self.two, "s3://b/{name:2}", "a number of digits"),
    (Self.two, "s3://b/{index:0}", "a number of digits"),
    (Self.two, "s3://b/{name", "written twice"),
    (Self.two, "s3://b/}name", "written twice"),
    ("https://h/f\n out=g\n", "s3://b/k", "out is a name below -o"),
    ("https://h/f\n out=../g\n", "s3://b/d/", "a part of the name"),
    ("https://h/f\n out=/g\n", "s3://b/d/", "a part of the name"),
    ("https://h/f\n dir=s3://b/d/\n", "s3://b/d/", "use out"),
    ("https://h/f\n dir=d\n", "s3://b/d/", "dir"),
  ])
  func `what cannot be meant is refused`(list: String, output: String, message: String) {
    #expect(refusal(list, "-o", output)?.contains(message) == true)
  }
}
