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
    "sha256", "sha-256", "SHA256", "sha_256", "checksum-sha256", "checksum_sha256", "sha256sum",
    "Checksum", "sha256_hash",
  ])
  func `A column with the name of an algorithm is a checksum of it`(name: String) throws {
    for (file, text) in [
      ("l.csv", "url,\(name)\nhttps://h/f,\(Self.digest)\nhttps://h/g,\n"),
      ("l.tsv", "url\t\(name)\nhttps://h/f\t\(Self.digest)\nhttps://h/g\t\n"),
      (
        "l.jsonl",
        #"{"url": "https://h/f", "\#(name)": "\#(Self.digest)"}"# + "\n"
          + #"{"url": "https://h/g", "\#(name)": null}"#
      ),
    ] {
      let requests = try #require(try plan(file, text)?.requests)
      #expect(requests.map { $0.checksums.map(\.description) } == [["sha-256=\(Self.digest)"], []])
    }
  }

  @Test(arguments: Checksum.Algorithm.allCases)
  func `Each algorithm has its column`(algorithm: Checksum.Algorithm) throws {
    let digest = String(repeating: "0a", count: algorithm.byteCount)
    let text = "url,\(algorithm.rawValue)\nhttps://h/f,\(digest)\n"
    let request = try #require(try plan("l.csv", text)?.requests.first)
    #expect(request.checksums.map(\.description) == ["\(algorithm.rawValue)=\(digest)"])
  }

  @Test(arguments: ["hashtags", "assured", "md", "resume", "summary", "commit", "shape", "mdate"])
  func `Other names are no digests`(name: String) throws {
    let plan = try plan("l.csv", "url,\(name)\nhttps://h/f,x\n")
    #expect(plan?.requests.first?.checksums == [])
    #expect(plan?.notes == ["l.csv: columns that are used for nothing: \(name)"])
  }

  @Test func `--columns says which column is the checksum, or that none is`() throws {
    let text = "url,hash,sha256\nhttps://h/f,\(Self.digest),no digest\n"
    let named = try plan("l.csv", text, "--columns", "checksum=hash")
    #expect(named?.requests.first?.checksums.map(\.description) == ["sha-256=\(Self.digest)"])
    #expect(named?.notes == ["l.csv: columns that are used for nothing: sha256"])
    let none = try plan("l.csv", text, "--columns", "checksum=")
    #expect(none?.requests.first?.checksums == [])
  }

  @Test func `A digest that is given twice counts once, and of two others both`() throws {
    let md5 = String(repeating: "0b", count: 16)
    let text = "url,checksum,sha256,md5\nhttps://h/f,\(Self.digest),\(Self.digest),\(md5)\n"
    let request = try #require(try plan("l.csv", text)?.requests.first)
    #expect(request.checksums.map(\.algorithm) == [.sha256, .md5])
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
    ("l.csv", "url,hash\nhttps://h/f,ab\n", "line 1: the column 'hash' may be the digest"),
    ("l.tsv", "url\tfileDigest\nhttps://h/f\tab\n", "--columns checksum=fileDigest"),
    ("l.csv", "url,checksum_type\nhttps://h/f,md5\n", "'checksum_type' may be the digest"),
    ("l.csv", "url,blake3\nhttps://h/f,ab\n", "'blake3' may be the digest"),
    ("l.jsonl", #"{"url": "https://h/f", "digest": "ab"}"#, "line 1: the column 'digest' may be"),
    ("l.jsonl", #"{"url": "https://h/f", "sha256": {}}"#, "the value of 'sha256' is no text"),
    ("l.csv", "url,sha256\nhttps://h/f,abc\n", "line 2: checksum"),
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
