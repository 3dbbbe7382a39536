import HaulCLI
import HaulCore
import Testing

/// Rules by which files of `get` and `add` go to directories.
@Suite struct PlacementTests {
  private let settings = """
    directory = ~/Downloads
    rule = *.iso, *.img -> ~/isos
    rule = example.org/ -> sets
    rule = *.zip -> /data/zips
    """

  private func files(_ more: [String: String] = [:]) -> CommandSources {
    sources(
      more.merging(["/home/me/.config/haul/haul.conf": settings]) { $1 },
      environment: ["HOME": "/home/me"])
  }

  private func destinations(_ words: String...) throws -> [DownloadRequest.Destination] {
    try plan(words, files(["list": "https://h/l.iso\nhttps://h/m.iso\n out=m\n"])).requests
      .map(\.destination)
  }

  @Test func `The first rule that matches counts, and a line says what it was for`() throws {
    let urls = [
      "https://h/a.iso", "https://example.org/b.img", "https://example.org/c.zip",
      "https://h/d.zip",
      "https://h/e",
    ]
    let plan = try plan(urls, files())
    #expect(
      plan.requests.map(\.destination) == [
        .directory("/home/me/isos"), .directory("/home/me/isos"),
        .directory("/home/me/Downloads/sets"), .directory("/data/zips"),
        .directory("/home/me/Downloads"),
      ])
    #expect(
      plan.notes.filter { $0.contains("by the rule") } == [
        "2 files go to /home/me/isos, by the rule *.iso, *.img",
        "c.zip goes to /home/me/Downloads/sets, by the rule example.org/",
        "d.zip goes to /data/zips, by the rule *.zip",
      ])
    let add = try Invocation.plan(["add", "https://h/a.iso"], from: files()) as? AddPlan
    #expect(add?.requests.first?.download?.destination == .directory("/home/me/isos"))
  }

  @Test func `A place that is named counts before the rules of the file`() throws {
    #expect(try destinations("-d", "x", "https://h/a.iso") == [.directory("x")])
    #expect(
      try destinations("-o", "/x/y", "https://h/a.iso") == [.file("/x/y")])
    // A file is named from where the user is.
    #expect(try destinations("-o", "y", "https://h/a.iso") == [.file("y")])
    #expect(try destinations("-d", "x", "-o", "y", "https://h/a.iso") == [.file("x/y")])
    #expect(
      try destinations("-i", "list") == [
        .directory("/home/me/isos"), .file("/home/me/Downloads/m"),
      ])
    #expect(
      try destinations("-d", "x", "--rule", "*.iso -> y", "https://h/a.iso") == [.directory("x/y")])
  }

  @Test func `What is no rule is an error with its line`() throws {
    #expect(
      refusal(["--rule", "x", "https://h/a"], files())?.contains("--rule is written") == true)
    #expect(
      refusal(["--rule", "*.a -> b", "-o", "c", "https://h/a"], files())?.contains("-o") == true)
    let wrong = sources(
      ["/home/me/.config/haul/haul.conf": "quiet\nrule = *.iso -> ../x\n"],
      environment: ["HOME": "/home/me"])
    #expect(refusal(["https://h/a"], wrong)?.contains("line 2: rule: ") == true)
  }
}
