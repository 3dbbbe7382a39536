import HaulCLI
import HaulCore
import Testing

/// Credentials of rows, of sections for hosts, and of the environment.
@Suite struct OwnCredentialTests {
  private static let path = "/home/me/.config/haul/haul.conf"

  private func files(_ settings: String, _ more: [String: String] = [:]) -> CommandSources {
    sources(
      more.merging([Self.path: settings]) { $1 },
      environment: ["HOME": "/home/me", "HAUL_PASSWORD": "p", "TOKEN": "of-variable\n", "NONE": ""])
  }

  private func authorizations(_ words: [String], _ sources: CommandSources) throws -> [String?] {
    try plan(words, sources).requests.map { $0.header("Authorization") }
  }

  @Test func `A token comes from a variable of the environment, or from standard input`() throws {
    let files = files("", ["-": "of-pipe\n"])
    #expect(
      try authorizations(["--bearer-env", "TOKEN", "https://h/x"], files) == ["Bearer of-variable"])
    #expect(try authorizations(["--bearer-file", "-", "https://h/x"], files) == ["Bearer of-pipe"])
    for (words, part) in [
      (["--bearer-env", "GONE"], "no such variable"), (["--bearer-env", "NONE"], "not a token"),
      (["--bearer-env", "TOKEN", "--bearer-file", "-"], "contradict"),
      (["--bearer-file", "-", "-i", "-"], "standard input"),
      (["--bearer-file", "-", "--checksum-file", "-"], "standard input"),
      (["--cookie-file", "-", "-H", "@-"], "standard input"),
    ] {
      let message = try #require(refusal(words + ["https://h/x"], files))
      #expect(message.contains(part) && !message.contains("of-variable"), "\(message)")
    }
  }

  @Test func `A section's credentials go to its server alone`() throws {
    let files = files(
      """
      header = X-All: 1
      [host api.example]
      bearer-file = ~/token
      header = X-Own: 2
      [host http://plain.example:8080]
      user = me
      """, ["/home/me/token": "secret-token"])
    let urls = [
      "https://api.example/a", "https://API.example:443/b", "http://api.example/c",
      "https://api.example:8443/d", "https://api.example.evil/e", "https://x.api.example/f",
      "http://plain.example:8080/g", "https://plain.example/h",
    ]
    let requests = try plan(urls, files).requests
    let bearer = "Bearer secret-token"
    #expect(
      requests.map { $0.header("Authorization") } == [
        bearer, bearer, nil, nil, nil, nil, "Basic bWU6cA==", nil,
      ])
    #expect(
      requests.map { $0.header("X-Own") != nil } == [true, true] + .init(repeating: false, count: 6)
    )
    #expect(requests.allSatisfy { $0.header("X-All") == "1" })
    #expect(
      requests.map(\.bearerFile) == ["/home/me/token", "/home/me/token"]
        + .init(repeating: nil, count: 6))
    let add = try Invocation.plan(["add", urls[0]], from: files) as? AddPlan
    #expect(add?.requests.first?.download?.header("Authorization") == bearer)
    let put = try Invocation.plan(["put", "f", urls[0]], from: files) as? PutPlan
    #expect(put?.requests.first?.headers["Authorization"] == bearer)
  }

  @Test func `An address over http that gets nothing of a section is named, once`() throws {
    let files = files(
      "[host a]\nbearer-file = t\n[host http://both]\nuser = me\n[host both]\nuser = me\n",
      ["t": "token"])
    func notes(_ urls: String...) throws -> [String] { try plan(urls, files).notes }
    #expect(try notes("https://a/1", "http://both/1", "http://other/1") == [])
    let said = try notes("http://a/1", "http://a/2", "https://a/3")
    #expect(said.count == 1)
    #expect(said[0].hasPrefix("http://a:80 gets nothing of"), "\(said)")
    #expect(said[0].contains("[host a]") && said[0].hasSuffix("[host http://a:80]"))
    let put = try Invocation.plan(["put", "f", "http://a/1"], from: files) as? PutPlan
    #expect(put?.notes.count == 1)
    let probe = try Invocation.plan(["probe", "http://a/1"], from: files) as? ProbePlan
    #expect(probe?.notes.count == 1)
  }

  @Test func `What is uploaded from standard input leaves none for an option`() {
    let files = files("", ["-": "text"])
    for words in [["--bearer-file", "-"], ["--password-file", "-"], ["-H", "@-"]] {
      let message = #expect(throws: UsageError.self) {
        try Invocation.plan(["put", "-", "https://h/x"] + words, from: files)
      }
      #expect(message?.message.contains("which is what is uploaded") == true)
    }
  }

  @Test func `Only a file that can be read again is kept for later`() throws {
    let files = files("", ["t": "token", "-": "pipe", "/dev/fd/9": "pipe"])
    for (path, kept) in [("t", "t"), ("-", nil), ("/dev/fd/9", nil)] {
      let request = try plan(["--bearer-file", path, "https://h/x"], files).requests.first
      #expect(request?.bearerFile == kept && request?.header("Authorization") != nil)
      let put = try Invocation.plan(["put", "f", "https://h/", "--bearer-file", path], from: files)
      #expect((put as? PutPlan)?.requests.first?.bearerFile == kept)
    }
  }

  @Test func `A row comes before the command line, and that before a section`() throws {
    let files = files(
      "bearer-file = top\n[host a]\nbearer-file = section\ncookie-file = jar\n",
      [
        "top": "top", "section": "section", "row": "row", "given": "given",
        "jar": "a\tFALSE\t/\tFALSE\t0\tid\tv\n",
        "jar2": "b\tFALSE\t/\tFALSE\t0\tid\trow\n",
        "c": "https://b/4\n cookie-file=jar2\nhttps://a/4\n",
        "c.csv": "url,cookies\nhttps://b/4,jar2\nhttps://a/4,\n",
        "list": "https://a/1\n bearer-file=row\nhttps://b/2\n user=me\nhttps://a/3\nhttps://b/4\n",
        "t.csv": "url,bearer-file,user\nhttps://a/1,row,someone\n",
        "u.csv": "url,user\nhttps://a/1,someone\n",
      ])
    let list = try plan(["-i", "list"], files).requests
    #expect(
      list.map { $0.header("Authorization") } == [
        "Bearer row", "Basic bWU6cA==", "Bearer section", "Bearer top",
      ])
    #expect(list.map { $0.header("Cookie") } == ["id=v", nil, "id=v", nil])
    for words in [["-i", "c"], ["-i", "c.csv", "--columns", "cookie-file=cookies"]] {
      let jars = try plan(words, files).requests.map { $0.header("Cookie") }
      #expect(jars == ["id=row", "id=v"])
    }
    let given = try authorizations(["-i", "list", "--bearer-file", "given"], files)
    #expect(given == ["Bearer row", "Basic bWU6cA==", "Bearer given", "Bearer given"])
    let field = try authorizations(["-i", "list", "-H", "Authorization: x"], files)
    #expect(field == ["Bearer row", "Basic bWU6cA==", "x", "x"])
    #expect(
      try authorizations(["-i", "t.csv"], files) == ["Bearer row"], "a column 'user' is text")
    #expect(
      try authorizations(["-i", "u.csv", "--columns", "user=user"], files)
        == ["Basic c29tZW9uZTpw"])
  }

  @Test(arguments: [
    ("[host]\n", "a section is written"), ("[host a/b]\n", "a section is written"),
    ("[host u:p@a]\n", "a section is written"), ("[other a]\n", "a section is written"),
    ("[get]\n", "a section is written"), ("[\u{E9}]\n", "a section is written"),
    ("[host a]\nlimit-rate = 1K\n", "a section for a host has"),
    ("[host a]\nbearer-file\n", "a value is missing"),
    ("[host a]\nuser = x\nuser = y\n", "given twice"),
    ("[host a]\nbearer-file = gone\n", "[host a]: --bearer-file gone: there is no such file"),
    ("[host a]\nuser = x\nbearer-file = token\n", "[host a]: --user and --bearer-file contradict"),
  ])
  func `A section that cannot be is an error with its place`(_ text: String, part: String) throws {
    let message = try #require(refusal(["https://a/x"], files(text, ["token": "t"])))
    #expect(message.contains(part) && message.contains("haul.conf"), "\(message)")
  }

  @Test(arguments: [
    ("https://a/1\n user=me\n bearer-file=row\n", "an address has one"),
    ("https://a/1\n bearer-file=row\n header=Authorization: x\n", "an address has one"),
    ("https://a/1\n bearer-file=gone\n", "line 1: --bearer-file gone: there is no such file"),
  ])
  func `Credentials of a row that cannot be are an error with the line`(
    _ list: String, part: String
  ) throws {
    let message = try #require(refusal(["-i", "list"], sources(["list": list, "row": "t"])))
    #expect(message.contains(part) && message.contains("list: line"), "\(message)")
  }

  @Test func `set and retry need something to set`() throws {
    for words in [["set", "A", "--host", "h"], ["retry", "A", "--host", "h"]] {
      #expect(refusal(words, of: sources())?.contains("--host is for") == true)
    }
    #expect(refusal(["set", "A"], of: sources())?.contains("-H or credentials") == true)
    #expect(refusal(["set", "A", "B", "--url", "https://h/x"], of: sources()) != nil)
    #expect(refusal(["set", "--group", "g", "-H", "A: b"], of: sources()) == nil)
  }
}
