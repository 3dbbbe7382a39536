import HaulCLI
import HaulTestSupport
import Testing

@Suite("What shells and manuals are made from") struct CompletionTests {
  private func printed(_ words: String...) throws -> String {
    guard case .print(let text) = try invocation(words) else {
      throw UsageError("nothing to print")
    }
    return text
  }

  @Test(
    "a completion script knows commands, options and values",
    arguments: [("bash", "complete -"), ("zsh", "#compdef haul"), ("fish", "complete -c 'haul'")])
  func script(shell: String, part: String) throws {
    for text in [
      try printed("--generate-completion-script", shell),
      try printed("--generate-completion-script=\(shell)"),
    ] {
      for part in [part, "verify", "limit-rate", "input-file", "overwrite", "relaxed"] {
        #expect(text.contains(part), "\(part)")
      }
    }
  }

  @Test("a shell that is not known is wrong usage")
  func unknownShell() {
    #expect(refusal(["--generate-completion-script", "cmd"]) != nil)
  }

  @Test("the options as JSON name every option of get with its help")
  func dump() throws {
    let root = try JSONValue(parsing: try printed("--experimental-dump-help"))
    let commands = try #require(root["command"]?["subcommands"]?.array)
    let get = try #require(commands.first { $0["commandName"]?.string == "get" })
    let options = try #require(get["arguments"]?.array)
    #expect(options.count > 30)
    #expect(options.allSatisfy { $0["abstract"]?.string?.isEmpty == false })
  }
}
