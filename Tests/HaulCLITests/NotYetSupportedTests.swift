import Testing

@Suite("Parts of the contract that this version does not have") struct NotYetSupportedTests {
  @Test(
    "an option reports that it is not yet supported, in each spelling",
    arguments: [
      "--mirror", "--priority", "--group", "--after", "--id",
      "--no-progress-events",
    ])
  func longOption(name: String) {
    let wanted =
      name == "--mirror"
      ? "\(name) is not yet supported"
      : "\(name) is an option of 'haul add', for the background queue"
    #expect(refusal(["get", "https://h/x", name]) == wanted)
    #expect(refusal(["get", name, "value", "https://h/x"]) == wanted)
    #expect(refusal(["get", "\(name)=value", "https://h/x"]) == wanted)
  }

  @Test("an option that another command has is checked there")
  func ofAnotherCommand() {
    let wrong = "user-interactive, user-initiated, default, utility, background"
    for arguments in [["add", "https://h/x"], ["set", "4FZ0ABCD"]] {
      let message = refusal(arguments + ["--priority", "high"])
      #expect(message?.contains(wrong) == true, "\(message ?? "accepted")")
    }
  }

  @Test("mirrors on one line are reported as not yet supported")
  func others() throws {
    #expect(refusal(["get", "https://h/x\thttps://m/x"])?.contains("not yet supported") == true)
  }

  @Test("a value that looks like such an option is a value")
  func values() throws {
    #expect(refusal(["get", "--output=--mirror", "https://h/x"]) == nil)
    #expect(refusal(["get", "-d", "put", "https://h/x"]) == nil)
    #expect(refusal(["get", "-H", "A: -4", "https://h/x"]) == nil)
  }
}
