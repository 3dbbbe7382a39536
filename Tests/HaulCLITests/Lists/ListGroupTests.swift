import HaulCLI
import HaulCore
import Testing

/// Groups that a list gives.
@Suite struct ListGroupTests {
  private func groups(_ list: String, _ name: String = "list", _ options: String...) throws
    -> [String?]
  {
    let plan = try Invocation.plan(
      ["add", "-i", name] + options, from: sources([name: list, "/m": "https://h/0"]))
    return try #require(plan as? AddPlan).requests.map(\.group)
  }

  @Test func `each address may have its own, in place of that of the command`() throws {
    let list = "https://h/1\n  group=one\nhttps://h/2\nhttps://h/3\n  out=x\n  group=a b\n"
    #expect(try groups(list) == ["one", nil, "a b"])
    #expect(try groups(list, "list", "--group", "all") == ["one", "all", "a b"])
  }

  @Test func `an address that is given twice takes no group of another one`() throws {
    let list = "https://h/1\nhttps://h/1\nhttps://h/2\n  group=two\nhttps://h/3\n"
    #expect(try groups(list) == [nil, "two", nil])
  }

  @Test func `what goes to another server has one too`() throws {
    let list = "https://h/1\n  group=one\nhttps://h/2\n"
    #expect(try groups(list, "list", "-o", "dav+https://h/d/") == ["one", nil])
  }

  @Test func `a column counts only if it is named`() throws {
    let table = "url,group\nhttps://h/1,train\nhttps://h/2,\n"
    #expect(try groups(table, "l.csv") == [nil, nil])
    #expect(try groups(table, "l.csv", "--columns", "group=group") == ["train", nil])
    let get = refusal(["-i", "l.csv", "--columns", "group=group"], sources(["l.csv": table]))
    #expect(get?.hasPrefix("l.csv: line 2: group is for the queue") == true, "\(get ?? "")")
    #expect(refusal(["-i", "l.csv"], sources(["l.csv": table])) == nil)
  }

  @Test func `a name has a length`() {
    let long = "https://h/1\n  group=" + String(repeating: "g", count: 1025)
    let message = refusal(["add", "-i", "list"], of: sources(["list": long]))
    #expect(message?.contains("list: line 2: group: a name has 1 to 1024 bytes") == true)
  }
}
