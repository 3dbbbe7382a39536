import HaulCLI
import HaulCore
import Testing

/// A list with columns.
@Suite struct InputTableTests {
  private func plan(_ file: String, _ text: String, _ arguments: String...) throws(UsageError)
    -> GetPlan?
  {
    let sources = CommandSources(
      read: { (path, _) throws(UsageError) in path == file ? text : nil })
    return try Invocation.plan(["get", "-i", file] + arguments, from: sources) as? GetPlan
  }

  private static let digest = String(repeating: "0a", count: 32)

  @Test(arguments: [
    (
      "l.csv",
      "url,out,checksum,note\r\n\"https://h/a,b\",\"d/\"\"x\"\"\",\(digest),\"two\r\nlines\"\r\n"
    ),
    ("l.TSV", "note\turl\tchecksum\tout\n\n-\thttps://h/a,b\tsha-256=\(digest)\td/\"x\"\n"),
    (
      "l.jsonl",
      #"{"url": "https://h/a,b", "out": "d/\"x\"", "checksum": "\#(digest)", "n": [1, {}]}"#
    ),
    ("l.csv", "\u{FEFF}out,url,checksum\nd/\"x\",\"https://h/a,b\",\(digest)"),
  ])
  func `CSV, TSV and JSONL say the same`(file: String, text: String) throws {
    let request = try #require(try plan(file, text)?.requests.first)
    #expect(request.url.absoluteString == "https://h/a,b")
    #expect(request.destination == .file("d/\"x\""))
    #expect(request.checksums.map(\.description) == ["sha-256=\(Self.digest)"])
  }

  @Test func `--columns names them otherwise; the rest of a row does not count`() throws {
    let text = "id,link,md5,url\n7,https://h/f,\(String(repeating: "f", count: 32)),no address\n"
    let request = try #require(
      try plan("l.csv", text, "--columns", "url=link,checksum=md5")?.requests.first)
    #expect(request.url.absoluteString == "https://h/f")
    #expect(request.checksums.map(\.algorithm) == [.md5])
  }

  @Test(arguments: [
    ("l.csv", "url,out,dir,checksum\nhttps://h/f,,,\n"),
    ("l.jsonl", #"{"url": "https://h/f", "out": "", "dir": null, "checksum": "", "n": []}"#),
  ])
  func `An empty value is none`(file: String, text: String) throws {
    let request = try #require(try plan(file, text)?.requests.first)
    #expect(request.destination == .directory(".") && request.checksums.isEmpty)
  }

  @Test func `One name twice is no matter of what is inside of values`() throws {
    let text =
      #"{"url": "https://h/f", "t": "a:\"}:{\\", "n": {"t": 1, "b": {"t": ":"}}, "m": [{"t": 1}]}"#
    #expect(try plan("l.jsonl", text + "\n{\"url\":\"https://h/g\"}")?.requests.count == 2)
  }

  @Test(arguments: [
    ("l.csv", "url,header\nhttps://h/f,Authorization: Bearer t\n", "--json"),
    ("l.jsonl", #"{"url": "https://h/f", "header": "Authorization: Bearer t"}"#, "--json"),
    ("l.csv", "url,field\nhttps://h/f,Authorization: Bearer t\n", "--columns=header=field"),
  ])
  func `A header field is sent as that of a list of lines`(file: String, text: String, more: String)
    throws
  {
    let request = try #require(try plan(file, text, more)?.requests.first)
    #expect(request.header("Authorization") == "Bearer t")
  }

  @Test func `--input-format says what standard input is`() throws {
    let plan = try plan(
      "-", #"{"url": "https://h/f", "limit-rate": 4096}"#, "--input-format", "jsonl")
    #expect(plan?.requests.first?.rateLimit == 4096)
  }

  @Test(arguments: [
    ("l.csv", "url,out\nhttps://h/f\n", "line 2: it has 1 values"),
    ("l.csv", "url\n\"https://h/f\n", "line 2: a value that begins with a quote"),
    ("l.csv", "url\n\"https://h/f\"x\n", "line 2: a value that begins with a quote"),
    ("l.csv", "link\nhttps://h/f\n", "line 1: the first line has the names"),
    ("l.csv", "url;out\nhttps://h/f;x\n", "'url' is none of them"),
    ("l.csv", "url,out\n,x\n", "line 2: there is no address"),
    ("l.tsv", "url\nftp//x\n", "line 2: "),
    ("l.jsonl", "\n[1]\n", "line 2: it is no JSON object"),
    ("l.jsonl", #"{"url": "https://h/f", "out": "a\nb"}"#, "line 1: a value has a NUL or a line"),
    ("l.csv", "url\n", "it contains no URL"),
    ("l.csv", "url,checksum\nhttps://h/f,abc\n", "line 2: checksum"),
    ("l.csv", "url,out,url\nhttps://h/f,a,https://h/g\n", "line 1: the first line has two columns"),
    (
      "l.jsonl", #"{"url": "https://h/f", "checksum": ["sha-256=00"]}"#,
      "line 1: the value of 'checksum' is no text"
    ),
    ("l.jsonl", #"{"url": "https://h/f", "out": {}}"#, "line 1: the value of 'out' is no text"),
    ("l.jsonl", #"{"url": "https://h/g", "url": "https://h/f"}"#, "line 1: it has two values of"),
    ("l.jsonl", #"{"url": "https://h/f", "x": 1, "\u0078": 1}"#, "line 1: it has two values of"),
    ("l.csv", "url,header\nhttps://h/f,secret\n", "line 2: header: a header is written"),
  ])
  func `what cannot be read names the line`(file: String, text: String, message: String) {
    do {
      _ = try plan(file, text)
      Issue.record("it was taken")
    } catch {
      #expect(error.message.contains(message), "\(error.message)")
      #expect(!error.message.contains("https://h/f"))
    }
  }

  @Test(arguments: [
    ["--columns", "url=a"], ["--columns", "address=a"], ["--columns", "url"],
    ["--columns", "url=a,url=b"], ["--input-format", "xml"],
  ])
  func `options that fit no list are refused`(arguments: [String]) {
    let sources = CommandSources(
      read: { (_, _) throws(UsageError) in "https://h/f\n" })
    #expect(throws: UsageError.self) {
      try Invocation.plan(["get", "-i", "list"] + arguments, from: sources)
    }
  }
}
