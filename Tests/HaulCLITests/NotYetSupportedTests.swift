import Testing

/// Parts of the contract that this version does not have.
@Suite struct NotYetSupportedTests {
  @Test(arguments: [
    "--mirror", "--priority", "--group", "--after", "--id", "--every", "--again",
    "--no-progress-events",
  ])
  func `an option reports that it is not yet supported, in each spelling`(name: String) {
    let wanted =
      name == "--mirror"
      ? "\(name) is not yet supported: several addresses of one file; for wget's, "
        + "--keep-paths keeps the paths of addresses"
      : "\(name) is an option of 'haul add', for the background queue"
    #expect(refusal(["get", "https://h/x", name]) == wanted)
    #expect(refusal(["get", name, "value", "https://h/x"]) == wanted)
    #expect(refusal(["get", "\(name)=value", "https://h/x"]) == wanted)
  }

  @Test func `an option that another command has is checked there`() {
    let wrong = "user-interactive, user-initiated, default, utility, background"
    for arguments in [["add", "https://h/x"], ["set", "4FZ0ABCD"]] {
      let message = refusal(arguments + ["--priority", "high"])
      #expect(message?.contains(wrong) == true, "\(message ?? "accepted")")
    }
  }

  @Test func `mirrors on one line are reported as not yet supported`() throws {
    #expect(refusal(["get", "https://h/x\thttps://m/x"])?.contains("not yet supported") == true)
  }

  @Test func `a value that looks like such an option is a value`() throws {
    #expect(refusal(["get", "--output=--mirror", "https://h/x"]) == nil)
    #expect(refusal(["get", "-d", "put", "https://h/x"]) == nil)
    #expect(refusal(["get", "-H", "A: -4", "https://h/x"]) == nil)
  }
}
