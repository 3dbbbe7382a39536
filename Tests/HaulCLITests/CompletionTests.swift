import HaulCLI
import HaulTesting
import Testing

/// Data for shell completions and manuals.
@Suite struct CompletionTests {
  private func printed(_ arguments: String...) throws -> String {
    guard let text = (try invocation(arguments) as? PrintedText)?.text else {
      throw UsageError("nothing to print")
    }
    return text
  }

  @Test(arguments: [
    ("bash", "complete -"), ("zsh", "#compdef haul"), ("fish", "complete -c 'haul'"),
  ])
  func `a completion script knows commands, options and values`(shell: String, part: String) throws
  {
    for text in [
      try printed("--generate-completion-script", shell),
      try printed("--generate-completion-script=\(shell)"),
    ] {
      for part in [part, "verify", "limit-rate", "input-file", "overwrite", "relaxed"] {
        #expect(text.contains(part), "\(part)")
      }
    }
  }

  @Test(arguments: [
    (
      "bash",
      "__haul_add_completions -W $'get\\nput\\nprobe\\nverify\\nmanifest\\nsplit\\ncache\\nadd\\n"
    ),
    ("zsh", "(get put probe verify manifest split cache add "),
    ("fish", "\"haul help\" -eq 1' -fa 'get put probe verify manifest split cache add "),
  ])
  func `help completes the names of commands`(shell: String, part: String) throws {
    #expect(try printed("--generate-completion-script", shell).contains(part))
  }

  @Test func `a name is offered only if every shell takes it as it is`() {
    for name in ["season-1", "Meine Serie", "Café", "Cafe\u{301}", "日本", "a.b_c", "_x", "a:b/c"] {
      #expect(NameCompletion.isSafe(name), "\(name)")
    }
    let unsafe = [
      "", " ", " a", "a ", "-rf", "~", "=touch", "\u{301}a", "a\u{301};b", "a\nb", "a\tb",
      "a\u{7F}",
      "a\u{202E}b", "a\u{A0}b", "a\u{600}", "/a", ".a",
    ]
    for name in unsafe + "$`;|&'\"!*?~()<>{}[]#\\^".map({ "a\($0)b" }) {
      #expect(!NameCompletion.isSafe(name), "\(name.debugDescription)")
    }
  }

  @Test func `the names that are printed are whole lines, and the others are left out`() {
    #expect(NameCompletion.lines([]) == "")
    let names = ["b", "$(x)", "a b", "b", "c\nd", "e;f", "-g", "\u{1B}[2J", "h\u{202E}"]
    #expect(NameCompletion.lines(names) == "a b\nb\n")
  }

  @Test(arguments: [
    ("bash", "__haul_add_names groups", ["$(eval", "-W \"$(", "  __haul_add_completions -f"]),
    ("zsh", "{__haul_add_names groups}", ["list=(${(f)", "banghist"]),
    ("fish", "haul list --names groups", ["http1.1' '", "2> /dev/null\n        set unparsed"]),
  ])
  func `a script expands and evaluates nothing from outside`(
    shell: String, part: String, unsafe: [String]
  ) throws {
    let script = try printed("--generate-completion-script", shell)
    #expect(script.contains(part))
    for text in unsafe + [": haul groups", ": haul transfers"] {
      #expect(!script.contains(text), "\(text)")
    }
  }

  @Test func `-h shows the most common options, --help all`() throws {
    let short = try printed("get", "-h")
    #expect(short.split(separator: "\n").count { $0.hasPrefix("  -") } == 12)
    #expect(short.contains("haul get --help"))
    #expect(try printed("get", "--help").contains("--min-split"))
    #expect(try printed("help", "get") == printed("get", "--help"))
    #expect(try printed("help", "cache", "list") == printed("cache", "list", "--help"))
    #expect(refusal(["help", "cache", "lits"]) != nil)
  }

  @Test func `an unknown shell is wrong usage`() {
    #expect(refusal(["--generate-completion-script", "cmd"]) != nil)
  }

  @Test func `the JSON form has every option of get with its help`() throws {
    let root = try JSONValue(parsing: try printed("--experimental-dump-help"))
    let commands = try #require(root["command"]?["subcommands"]?.array)
    let get = try #require(commands.first { $0["commandName"]?.string == "get" })
    let options = try #require(get["arguments"]?.array)
    #expect(options.count > 30)
    #expect(options.allSatisfy { $0["abstract"]?.string?.isEmpty == false })
  }
}
