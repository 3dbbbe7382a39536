import Testing

@Suite("What the contract has and this version has not") struct NotYetSupportedTests {
  @Test(
    "a command says that it is not yet supported",
    arguments: [
      "put", "add", "list", "show", "explain", "pause", "resume", "requeue", "cancel",
      "retry", "restart", "remove", "start", "move", "set", "suspend", "unsuspend", "watch",
      "wait", "serve", "daemon", "ui",
    ])
  func command(name: String) {
    let wanted = "the command '\(name)' is not yet supported"
    #expect(refusal([name]) == wanted)
    #expect(refusal([name, "https://h/x", "--json"]) == wanted)
    #expect(refusal([name, "--help"]) == wanted)
  }

  @Test(
    "an option says that it is not yet supported, in each spelling",
    arguments: [
      "--input-file", "--mirror", "--user", "--password-file", "--bearer-file",
      "--netrc", "--cookie", "--cookie-file", "--user-agent", "--trust-redirects", "--proxy",
      "--noproxy", "--cert", "--key", "--tls-min", "--http1.1", "--http2", "--interface",
      "--resolve", "--priority", "--group", "--after", "--id", "--no-progress-events",
    ])
  func longOption(name: String) {
    let wanted = "\(name) is not yet supported"
    #expect(refusal(["get", "https://h/x", name]) == wanted)
    #expect(refusal(["get", name, "value", "https://h/x"]) == wanted)
    #expect(refusal(["get", "\(name)=value", "https://h/x"]) == wanted)
  }

  @Test(
    "a short option says so alone, in a cluster and with its value",
    arguments: [
      (["-i", "list"], "-i"), (["-ilist"], "-i"), (["-qi", "list"], "-i"), (["-4"], "-4"),
      (["-6"], "-6"), (["-q4"], "-4"),
    ])
  func shortOption(words: [String], name: String) {
    #expect(refusal(["get", "https://h/x"] + words) == "\(name) is not yet supported")
    #expect(refusal(["get"] + words + ["https://h/x"]) == "\(name) is not yet supported")
  }

  @Test("standard output as a target and mirrors on one line say so")
  func others() throws {
    #expect(refusal(["get", "-o", "-", "https://h/x"])?.contains("not yet supported") == true)
    #expect(refusal(["get", "-o-", "https://h/x"])?.contains("not yet supported") == true)
    #expect(refusal(["get", "https://h/x\thttps://m/x"])?.contains("not yet supported") == true)
  }

  @Test("a value that looks like such an option is a value")
  func values() throws {
    #expect(refusal(["get", "--output=--user", "https://h/x"]) == nil)
    #expect(refusal(["get", "-d", "put", "https://h/x"]) == nil)
    #expect(refusal(["get", "-H", "A: -i", "https://h/x"]) == nil)
  }
}
