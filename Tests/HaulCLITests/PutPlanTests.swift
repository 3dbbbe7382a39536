import HaulCLI
import HaulCore
import Testing

@Suite("The meaning of the arguments of put") struct PutPlanTests {
  private func plan(_ arguments: String...) throws -> PutPlan {
    guard case .put(let plan) = try invocation(["put"] + arguments) else {
      throw UsageError("that is not a put")
    }
    return plan
  }

  @Test("one file goes to exactly that address")
  func one() throws {
    let request = try #require(try plan("a b.txt", "https://h/x").requests.first)
    #expect(request.source == "a b.txt")
    #expect(request.url == (try ResourceURL("https://h/x")))
    #expect(request.method == .put)
    #expect(request.precondition == .none)
  }

  @Test("below an address with a slash at its end, each file keeps its name, encoded")
  func collection() throws {
    let requests = try plan("d/a b?.txt", "/é", "https://u:p@h/x/?k=v").requests
    #expect(
      requests.map(\.url.absoluteString) == [
        "https://h/x/a%20b%3F.txt?k=v", "https://h/x/%C3%A9?k=v",
      ])
    #expect(requests.allSatisfy { $0.url.credentials?.password == "p" })
  }

  @Test("a name that looks like an address or like a parent stays a name")
  func hostileNames() throws {
    #expect(
      try plan("x:y", "https://h/d/").requests.first?.url.absoluteString == "https://h/d/x%3Ay")
    #expect(refusal(["put", "..", "https://h/d/"])?.contains("names no file") == true)
  }

  @Test("method, conditions, header fields and retries")
  func options() throws {
    let post = try plan("f", "https://h/x", "--method", "post", "-H", "A: b", "--retries", "3")
    let request = try #require(post.requests.first)
    #expect(request.method == .post)
    #expect(request.headers.map(\.name) == ["A"])
    #expect(request.retry.retries == 3)
    #expect(try plan("f", "https://h/x", "--if-exists", "fail").requests[0].precondition == .absent)
    #expect(
      try plan("f", "https://h/x", "--if-match", "\"a\"").requests[0].precondition
        == .entityTag("\"a\""))
  }

  @Test(
    "the scheme of the address may name the protocol",
    arguments: [
      ("tus+https://h/x/", UploadRequest.Method.tus, "https://h/x/"),
      ("dav+https://h/x/", .webDAV, "https://h/x/f"), ("dav+http://h/x", .webDAV, "http://h/x"),
      ("dav://h/x/", .webDAV, "http://h/x/f"), ("davs://u:p@h:81/x", .webDAV, "https://h:81/x"),
    ])
  func schemes(address: String, method: UploadRequest.Method, url: String) throws {
    let request = try #require(try plan("f", address).requests.first)
    #expect((request.method, request.url.absoluteString) == (method, url))
    #expect(refusal(["put", "f", address, "--method", "post"]) != nil)
    #expect(refusal(["put", "f", address, "--if-match", "\"a\""]) != nil)
  }

  @Test(
    "contradictions and missing parts are refused",
    arguments: [
      [], ["f"], ["https://h/x"], ["a", "b", "https://h/x"], ["d/f", "e/f", "https://h/x/"],
      ["f", "h.example/x"], ["-", "https://h/x"], ["", "https://h/x"],
      ["f", "https://h/x", "--method", "patch"], ["f", "https://h/x", "--if-exists", "skip"],
      ["f", "https://h/x", "--if-match", "W/\"a\""], ["f", "https://h/x", "--if-match", "a"],
      ["f", "https://h/x", "--method", "post", "--if-exists", "fail"],
      ["f", "https://h/x", "--if-match", "\"a\"", "--if-exists", "fail"],
    ])
  func refused(arguments: [String]) {
    #expect(refusal(["put"] + arguments) != nil)
  }
}
