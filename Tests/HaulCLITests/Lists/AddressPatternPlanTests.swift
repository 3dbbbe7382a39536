import HaulCLI
import HaulCore
import Testing

/// Patterns in addresses of `get` and `add`.
@Suite struct AddressPatternPlanTests {
  private func paths(_ arguments: String...) throws -> [String] {
    try plan(arguments, sources()).requests.map(\.url.path)
  }

  @Test func `Patterns are expanded, and a note says how many addresses they are`() throws {
    let plan = try plan(["https://h/[01-03].{a,b}", "http://[::1]/x"], sources())
    #expect(plan.requests.count == 7)
    #expect(plan.requests.last?.url.origin.host == "::1")
    #expect(plan.notes == ["6 addresses: https://h/01.a to https://h/03.b"])
    let add = try Invocation.plan(["add", "https://h/[1-3]"], from: sources()) as? AddPlan
    #expect(add?.requests.count == 3 && add?.notes.count == 1)
  }

  @Test func `no-glob takes an address as it is, also from the configuration`() throws {
    #expect(try paths("--no-glob", "https://h/{a,b}") == ["/%7Ba,b%7D"])
    let files = sources(
      ["/home/.config/haul/haul.conf": "glob = false\n"], environment: ["HOME": "/home"])
    #expect(try plan(["https://h/{a,b}"], files).requests.count == 1)
    #expect(try plan(["--glob", "https://h/{a,b}"], files).requests.count == 2)
  }

  @Test func `Addresses of lists are taken as they are`() throws {
    let files = sources(["list": "https://h/{a,b}\nhttps://h/x[1-2]\n"])
    #expect(try plan(["-i", "list"], files).requests.count == 2)
  }

  @Test func `Too many addresses are refused before anything is made of them`() throws {
    let huge = "https://u:secret@h/[0-999999999]/[0-999999999]/[0-999999999]?k=secret"
    let message = try #require(refusal([huge], sources()))
    #expect(message.contains("at most 10,000") && !message.contains("secret"))
    #expect(refusal(["https://h/[1-10001]"], sources())?.contains("10,001") == true)
    #expect(refusal(["https://h/[1-9999]", "https://h/{a,b}"], sources()) != nil)
    #expect(
      refusal(["--glob-limit", "3", "https://h/[1-3]"], sources()) == nil)
    #expect(refusal(["https://h/[3-1]?k=secret"], sources())?.contains("secret") == false)
  }

  @Test func `The values name files, as with curl`() throws {
    let named = try plan(["-o", "f_#1_#2.x", "-d", "d", "https://h/{a,b}/[1-2]"], sources())
    #expect(
      named.requests.map(\.destination)
        == ["a_1", "a_2", "b_1", "b_2"].map { .file("d/f_\($0).x") })
    #expect(refusal(["-o", "x", "https://h/[1-2]"], sources())?.contains("-o names one") == true)
    #expect(refusal(["-o", "#1", "https://h/{a,b}/[1-2]"], sources())?.contains("target") == true)
    #expect(refusal(["-o", "#1", "https://h/{..,b}"], sources()) != nil)
    #expect(refusal(["-o", "#1", "https://h/[1-2]", "https://h/x"], sources()) != nil)
  }
}
