import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// Lists that are longer than what is in memory at once.
@Suite struct LongListTests {
  /// Several pieces of a file.
  private static let count = 1500

  private static let csv =
    "name,url,out\n"
    + (1...count).map { "\"a\nb,\(count)\",https://h/\($0)?é,d/\($0)\n\n" }.joined()

  private static let lists: [(String, String)] = [
    ("list", (1...count).map { "https://h/\($0)?\u{E9}\n # x\n\n" }.joined()),
    (
      "list",
      (1...count).map {
        "https://h/\($0)\r\n  out=d/\($0)\n  header=X: \($0)\n  limit-rate=\($0)K"
      }.joined(separator: "\n")
    ),
    ("l.csv", "\u{FEFF}" + csv), ("l.csv", String(csv.dropLast(2))),
    (
      "l.tsv",
      "url\tchecksum\r\n"
        + (1...count).map { "https://h/\($0)\tmd5=\(String(repeating: "0", count: 32))\r\n" }
        .joined()
    ),
    ("l.jsonl", (1...count).map { "{\"url\":\"https://h/\($0)\",\"n\":\($0)}\n" }.joined()),
  ]

  private static func files(_ file: String, _ text: String, window: Int) -> CommandSources {
    var sources = sources(
      [file: text],
      environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret"])
    sources.window = window
    return sources
  }

  private static func planned(
    _ file: String, _ text: String, _ arguments: [String] = [], window: Int
  ) throws(UsageError) -> any CommandPlan {
    try Invocation.plan(
      ["get", "-i", file] + arguments, from: files(file, text, window: window))
  }

  /// The transfers of a plan, each with its number; what is not in memory is read again.
  private static func all(
    _ plan: any CommandPlan
  ) throws -> [(request: TransferRequest, index: Int)] {
    if let plan = plan as? GetPlan {
      let first = plan.requests.map { TransferRequest(.download($0)) }
      return try zip(first, plan.indices).map { ($0, $1) } + (plan.rest?.all() ?? [])
    }
    let put = try #require(plan as? PutPlan)
    let first = put.requests.map { TransferRequest(.upload($0)) }
    return try zip(first, #require(put.indices)).map { ($0, $1) } + (put.rest?.all() ?? [])
  }

  private static func expectSame(
    _ file: String, _ text: String, _ arguments: [String] = [], window: Int = 7,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let whole = try all(planned(file, text, arguments, window: 100_000))
    let long = try all(planned(file, text, arguments, window: window))
    #expect(whole.map(\.request) == long.map(\.request), sourceLocation: sourceLocation)
    #expect(whole.map(\.index) == long.map(\.index), sourceLocation: sourceLocation)
  }

  @Test(arguments: lists)
  func `only the first transfers are in memory, and the others follow in the order of the list`(
    file: String, text: String
  ) throws {
    let plan = try #require(try Self.planned(file, text, window: 7) as? GetPlan)
    #expect(plan.indices == Array(1...7))
    #expect(plan.requests.count == 7)
    #expect(plan.rest?.count == Self.count - 7)
    let all = try Self.all(plan)
    #expect(all.map(\.index) == Array(1...Self.count))
    #expect(all.last?.request.url?.absoluteString.hasPrefix("https://h/\(Self.count)") == true)
    try Self.expectSame(file, text)
    try Self.expectSame(file, text, ["https://h/first", "https://h/second"], window: 1)
  }

  @Test func `a list of the size of the window is in memory as a whole`() throws {
    let text = (1...9).map { "https://h/\($0)\n" }.joined() + "# the end\n"
    let plan = try #require(try Self.planned("list", text, window: 9) as? GetPlan)
    #expect(plan.rest == nil && plan.requests.count == 9)
    let same = try Self.planned("list", text, window: 4096) as? GetPlan
    #expect(plan == same)
  }

  @Test func `several lists and their limits`() throws {
    let lists = [
      "a": (1...Self.count).map { "https://a/\($0)\n" }.joined(),
      "b": (1...Self.count).map { "https://b/\($0)\n  max-per-host=\($0 % 7 + 3)\n" }.joined(),
    ]
    var sources = sources(lists)
    sources.window = 5
    let plan = try plan(["-i", "a", "-i", "b"], sources)
    #expect(plan.managerOptions.maximumActiveOfHosts == ["b": 3])
    let all = try Self.all(plan)
    #expect(all.map(\.index) == Array(1...2 * Self.count))
    #expect(all.last?.request.url?.origin.host == "b")
  }

  /// What is added to 1,500 lines, and a part of the message.
  private static let wrong: [(String, [String], String)] = [
    ("ftp://h/x\n", [], "line 1501: "),
    ("https://h/x\n  out=a\n  out=b\n", [], "line 1503: out is given twice"),
    ("https://h/x\n  checksum=md5=0\n", [], "line 1502: "),
    ("https://h/x\n  nothing\n", [], "line 1502: an indented line is written key=value"),
    ("https://h/x\n  out=7\n", [], "line 1501: the target 7 also belongs to another address"),
    ("https://h/x\n  out=1400\n", [], "https://h/1400 (list: line 1400)"),
    ("https://h/1400\n  header=a: b\n", [], "is given twice (list: line 1400), for one file"),
    ("https://h/x\n  out=/dev/null\n", [], "standard output (-) takes one file"),
    ("https://h/x\n  out=s3://b/k\n", [], "line 1: give -o, or out with a place on another"),
    ("https://u:p@h/x\n", ["--user", "u"], "has a user name, and so has --user"),
    ("\u{0}\n", [], "line 1501: the line contains a NUL"),
  ]

  @Test(arguments: wrong)
  func `a wrong line at the end is refused as in a short list, before anything begins`(
    line: String, arguments: [String], message: String
  ) throws {
    let text = (1...Self.count).map { "https://h/\($0)\n" }.joined() + line
    for window in [7, 100_000] {
      do {
        var sources = Self.files("list", text, window: window)
        sources.askPassword = { (_) throws(UsageError) in "p" }
        _ = try Invocation.plan(["get", "-i", "list"] + arguments, from: sources)
        Issue.record("it was taken")
      } catch {
        #expect(error.message.contains(message), "\(error.message)")
      }
    }
  }

  @Test func `what is given twice is fetched once, wherever it is in the list`() throws {
    var lines = (1...Self.count).map { "https://h/\($0)\n" }
    lines.insert("https://h/3\n", at: 5)  // both among the first
    lines.insert("https://h/2\n", at: 700)  // one among the first
    lines.insert("https://h/600\n", at: 1400)  // neither
    lines.append("https://h/600\n")
    let text = lines.joined()
    try Self.expectSame("list", text)
    let plan = try #require(try Self.planned("list", text, window: 7) as? GetPlan)
    #expect(plan.requests.count == 6 && plan.rest?.count == Self.count - 6)
    #expect(
      plan.notes
        == [(6, "3", 3), (701, "2", 2), (1401, "600", 601), (1504, "600", 601)].map {
          "list: line \($0.0): https://h/\($0.1) is given twice (list: line \($0.2)) and is "
            + "downloaded once; use --if-exists rename to get two files"
        })
  }

  @Test func `notes on what is given twice are limited`() throws {
    let text = String(repeating: "https://h/1\n", count: 1500) + "https://h/2\n"
    let plan = try #require(try Self.planned("list", text, window: 7) as? GetPlan)
    #expect(plan.notes.count == 1001 && plan.notes.last == "499 more are given twice")
    #expect(plan.requests.count == 1 && plan.rest?.count == 1)
    #expect(try Self.all(plan).map(\.index) == [1, 1501])
  }

  @Test func `names with numbers, and the cache, need the whole list`() throws {
    let names = (1...Self.count).map { "https://h/\($0)/\($0 % 700)\n" }.joined()
    let cases: [(String, [String])] = [
      (names, []), (names, ["--if-exists", "rename"]), (Self.lists[0].1, ["--cache"]),
    ]
    for (text, arguments) in cases {
      let plan = try #require(try Self.planned("list", text, arguments, window: 7) as? GetPlan)
      #expect(plan.rest == nil && plan.requests.count == Self.count)
      try Self.expectSame("list", text, arguments)
    }
  }

  @Test func `a list for another server`() throws {
    let text = (1...Self.count).map { "https://h/\($0)\n" }.joined()
    let arguments = ["-o", "s3://b/{index:5}-{name}"]
    let put = try #require(try Self.planned("list", text, arguments, window: 7) as? PutPlan)
    #expect(put.requests.count == 7 && put.rest?.count == Self.count - 7)
    try Self.expectSame("list", text, arguments)
    try Self.expectSame("list", text + "https://h/9\n", ["-o", "s3://b/"])
    #expect(throws: UsageError.self) {
      try Self.planned("list", text + "https://i/9\n", ["-o", "s3://b/"], window: 7)
    }
  }
}
