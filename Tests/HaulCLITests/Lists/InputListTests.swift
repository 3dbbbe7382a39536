import HaulCLI
import HaulCore
import Testing

/// Lists of addresses.
@Suite struct InputListTests {
  private func sha(_ digit: String) -> String { "sha-256=" + String(repeating: digit, count: 64) }

  @Test
  func `one address per line; comments, empty lines, line ends and spaces do not count`() throws {
    let text =
      "# mine\n\nhttps://h/1\r\n  \t\nhttps://h/2  \n  # of 2\n  out = b c\t\r\n#end\nhttps://h/3"
    let entries = try InputList(text).entries
    #expect(entries.map(\.address) == ["https://h/1", "https://h/2", "https://h/3"])
    #expect(entries.map(\.line) == [3, 5, 9])
    #expect(entries.map(\.out) == [nil, "b c", nil])
    #expect(try InputList("").entries.isEmpty)
  }

  @Test func `indented lines are options of the address above`() throws {
    let list = """
      https://h/1
        out=a=b.bin
      \tdir=/data
        checksum=\(sha("a"))
        header=X-A: 1
        header=X-B: 2
        limit-rate=2K
      https://h/2
        out=c.bin
      https://h/3
        dir=e
      https://h/4
      """
    let files = sources(["list": list])
    let requests = try plan(["-i", "list", "-d", "base", "-H", "x-a: 0"], files).requests
    #expect(
      requests.map(\.destination) == [
        .file("/data/a=b.bin"), .file("base/c.bin"), .directory("e"), .directory("base"),
      ])
    #expect(requests.map(\.checksums.first) == [Checksum(sha("a")), nil, nil, nil])
    #expect(requests[0].headers.map(\.name) == ["X-A", "X-B"])
    #expect(requests.map(\.rateLimit) == [2048, nil, nil, nil])
    #expect(requests[1].headers.map(\.name) == ["x-a"])
  }

  /// A list is the user's own, as the command line is; names that a server chooses are others.
  @Test func `out and dir of a list lead where they say`() throws {
    let list = "https://h/1\n out=../x\nhttps://h/2\n out=/abs/y\nhttps://h/3\n dir=../up\n"
    let requests = try plan(["-i", "list", "-d", "base"], sources(["list": list])).requests
    #expect(
      requests.map(\.destination) == [
        .file("base/../x"), .file("/abs/y"), .directory("../up"),
      ])
  }

  @Test
  func `lists and addresses of the command line are combined, also from standard input`() throws {
    let files = sources(["a": "https://h/2\n", "-": "https://h/3\n"])
    let urls = try plan(["-i", "a", "--input-file=-", "https://h/1"], files).requests.map(\.url)
    #expect(urls.map(\.redacted) == ["https://h/1", "https://h/2", "https://h/3"])
  }

  @Test func `a list may have one address, which then may have the options for one`() throws {
    let files = sources(["a": "https://h/1\n"])
    let requests = try plan(["-ia", "-o", "x", "--checksum", sha("b")], files).requests
    #expect(requests.map(\.destination) == [.file("x")])
    #expect(requests[0].checksums.first == Checksum(sha("b")))
  }

  @Test(arguments: [
    (
      "https://h/1\nhttps://h/2\thttps://m/2",
      "line 2: mirrors, after a tab, are not yet supported"
    ),
    ("https://h/1\n  priority=default", "line 2: priority is not yet supported; the keys are out,"),
    ("https://h/1\n  groop=x", "line 2: unknown key groop; did you mean group? the keys are out,"),
    ("https://h/1\n  zzzzzz=x", "line 2: unknown key zzzzzz; the keys are out, dir, checksum,"),
    ("https://h/1\n  group=", "line 2: group has no value"),
    (
      "https://h/1\n  out=x\n  group=g",
      "line 1: group is for the queue of the daemon: use 'haul add'"
    ),
    ("https://h/1\n  id=x", "line 2: id is not yet supported"),
    ("https://h/1\n  sha256=x", "line 2: unknown key sha256; a digest is written checksum=sha"),
    ("https://h/1\n  md5=x", "line 2: unknown key md5; a digest is written checksum=md5=HEX"),
    ("https://h/1\n  outt=x", "line 2: unknown key outt; did you mean out? the keys are out,"),
    (
      "https://h/1\n  https://u:secret@h/2?a=b",
      "line 2: an indented line is an option of the address above it; remove"
    ),
    ("https://h/1\n  Authorization: Bearer secret==", "line 2: that is no key; the keys are"),
    ("  out=x", "line 1: an indented line"),
    ("https://h/1\n\n  out", "line 3: an indented line is written key=value"),
    ("https://h/1\n  out=\n", "line 2: out has no value"),
    ("https://h/1\n  out=a\n  out=b", "line 3: out is given twice"),
    ("https://h/1\n  limit-rate=\n", "line 2: limit-rate has no value"),
    ("https://h/1\n  max-per-host=1\n  max-per-host=1", "line 3: max-per-host is given twice"),
    ("https://h/1\n  out=..", "line 1: -o ..: that is a directory"),
    ("https://h/1\n  out=-", "line 1: out: a list cannot write to standard output"),
    ("https://h/1\n  checksum=md5=0", "line 2: checksum: md5 needs 32"),
    ("https://h/1\n  header=secret", "line 2: header: a header is written"),
    ("https://h/1\nh/2?token=secret", "line 2: h/2?***: the address has no scheme"),
    ("https://h/1\n  out=a\0b", "line 2: the line contains a NUL"),
    ("https://h/1\rhttps://h/2", "line 1: the line contains a NUL or a carriage return"),
    ("ftp://me:secret@h/", "line 1: ftp://h/: the scheme ftp"), ("#only", "it contains no URL"),
  ])
  func `an error in a list is reported with its line`(text: String, message: String) throws {
    let found = try #require(refusal(["-i", "list"], sources(["list": text])))
    #expect(found.hasPrefix("list: \(message)"), "\(found)")
    #expect(!found.contains("secret"))
  }

  @Test func `contradictions with the command line are refused`() {
    let files = sources(["one": "https://h/1\n  out=a", "two": "https://h/1\nhttps://h/2"])
    #expect(refusal(["-i", "one", "-o", "b"], files)?.contains("contradict") == true)
    #expect(refusal(["-i", "two", "-o", "b"], files)?.contains("several URLs") == true)
    #expect(refusal(["-i", "two", "--checksum", sha("1")], files)?.contains("several") == true)
    #expect(refusal(["-i", "none"], files)?.contains("no such file") == true)
    #expect(refusal(["-i", "-", "-i", "-"], files)?.contains("twice") == true)
  }

  @Test(arguments: [("a", "a"), ("a", "./a"), ("d//a", "d/./a"), ("/d/a", "//d/a")])
  func `two transfers with the same target are refused, in any spelling`(
    first: String, second: String
  ) throws {
    let list = "https://h/1\n  out=\(first)\nhttps://h/2\n\n  out=\(second)"
    let message = try #require(refusal(["-i", "list"], sources(["list": list])))
    #expect(message.hasPrefix("list: line 3: the target"))
    #expect(message.hasSuffix("(list: line 1)"))
  }

  @Test(arguments: [[], ["--if-exists", "skip"], ["--if-exists", "overwrite"]])
  func `the same address and file twice is downloaded once, with a warning that names both places`(
    options: [String]
  ) throws {
    let list = "https://h/d/x?token=secret\nhttps://h/d/x?token=secret\nhttps://h/y\n"
    let files = sources(["list": list])
    let twice = try plan(["-i", "list"] + options, files)
    #expect(twice.requests.map(\.url.redacted) == ["https://h/d/x?token=***", "https://h/y"])
    #expect(twice.indices == [1, 3])
    let note = try #require(twice.notes.first)
    #expect(note.hasPrefix("list: line 2: https://h/d/x?token=*** is given twice (list: line 1)"))
    #expect(note.contains("--if-exists rename"))
    let words = try plan(["https://h/x", "https://h/x"] + options, files)
    #expect(words.requests.count == 1 && words.notes.count == 1)
    #expect(try plan(["-i", "list", "--if-exists", "rename"], files).requests.count == 3)
    #expect(try plan(["-i", "list", "--remote-name"], files).requests.count == 3)
  }

  @Test func `the same address and file with different options is refused`() throws {
    let list = "https://h/x\n  checksum=md5=\(String(repeating: "0", count: 32))\nhttps://h/x\n"
    let message = try #require(refusal(["-i", "list"], sources(["list": list])))
    #expect(message.hasPrefix("list: line 3: https://h/x is given twice (list: line 1)"))
    #expect(message.contains("with different options"))
  }

  @Test
  func `addresses with the same file name are refused only where no number may be added`() throws {
    let files = sources(["list": "https://h/1/x\nhttps://h/2/x\n"])
    #expect(refusal(["-i", "list"], files) == nil)
    for option in ["skip", "overwrite", "fail"] {
      let message = try #require(refusal(["-i", "list", "--if-exists", option], files))
      #expect(message.contains("the target x also belongs to another address, https://h/1/x"))
      #expect(message.hasSuffix("; --if-exists \(option) gives no number: use update or rename"))
    }
    let exact = sources(["list": "https://h/1/x\nhttps://h/2\n  out=x"])
    #expect(refusal(["-i", "list"], exact)?.contains("line 2: the target x") == true)
  }

  @Test func `the same name in other directories is another target`() throws {
    let list = "https://h/1\n  out=a\n  dir=x\nhttps://h/2\n  out=a\n  dir=y\nhttps://h/3\n  out=/a"
    #expect(try plan(["-i", "list"], sources(["list": list])).requests.count == 3)
  }

  @Test func `ten thousand addresses with their own targets are accepted`() throws {
    let list = (1...10_000).map { "https://h/\($0)\n  out=\($0).bin\n" }.joined()
    let plan = try plan(["-i", "list"], sources(["list": list]))
    #expect(plan.requests.count + (plan.rest?.count ?? 0) == 10_000)
    let last = try plan.rest?.all().last?.request
    #expect(
      last?.download?.destination == .file("./10000.bin")
        || last?.download?.destination == .file("10000.bin"))
  }
}
