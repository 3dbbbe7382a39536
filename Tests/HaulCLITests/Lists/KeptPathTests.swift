import HaulCLI
import HaulCore
import Testing

/// `--keep-paths`, and `{path}` in `-o`.
@Suite struct KeptPathTests {
  private func sources(_ list: String) -> CommandSources {
    CommandSources(
      environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cret"],
      read: { (path, _) throws(UsageError) in path == "list" ? list : nil })
  }

  private func destinations(
    _ list: String, _ arguments: String...
  ) throws -> [DownloadRequest.Destination]? {
    let plan = try Invocation.plan(
      ["get", "-i", "list", "--keep-paths"] + arguments, from: sources(list))
    return (plan as? GetPlan)?.requests.map(\.destination)
  }

  @Test func `each file goes below the path of its address`() throws {
    let list = "https://h/a/data.bin\nhttps://h/b/c%20d/data.bin?x=1\nhttps://h/data.bin\n"
    #expect(
      try destinations(list, "-d", "D")
        == [.directory("D/a"), .directory("D/b/c d"), .directory("D")])
  }

  @Test func `out overrides the path, and dir is above it`() throws {
    let list = "https://h/a/x\n  out=y\nhttps://h/a/x\n  dir=E\n"
    #expect(try destinations(list, "-d", "D") == [.file("D/y"), .directory("E/a")])
  }

  @Test(arguments: [
    "https://h/a//x", "https://h/a/%2e%2e%2f/x", "https://h/a%2Fb/x", "https://h/a%5Cb/x",
    "https://h/a/%20/x",
  ])
  func `a name that leads elsewhere, or is none, is refused`(address: String) {
    #expect(throws: UsageError.self) { try destinations(address + "\n", "-d", "D") }
    #expect(throws: UsageError.self) {
      try Invocation.plan(
        ["get", "-i", "list", "-o", "s3://b/{path}"], from: sources(address + "\n"))
    }
  }

  @Test func `a name is made safe as that of a file`() throws {
    #expect(try destinations("https://h/-a/con/x\n", "-d", "D") == [.directory("D/_-a/_con")])
  }

  @Test func `it contradicts -o`() {
    #expect(throws: UsageError.self) {
      try Invocation.plan(["get", "--keep-paths", "-o", "x", "https://h/a/b"], from: sources(""))
    }
  }

  @Test func `the field has the path without its first slash`() throws {
    let plan = try Invocation.plan(
      ["get", "-i", "list", "-o", "https://h/up/{path}"],
      from: sources("https://g/a/b%20c/x.bin\nhttps://g/y\n"))
    #expect(
      (plan as? PutPlan)?.requests.map(\.url.absoluteString)
        == ["https://h/up/a/b%20c/x.bin", "https://h/up/y"])
  }
}
