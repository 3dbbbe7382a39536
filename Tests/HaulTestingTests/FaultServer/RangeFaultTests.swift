import HaulTesting
import Testing

/// Range faults.
@Suite(.timeLimit(.minutes(10)))
struct RangeFaultTests {
  private func get(
    _ actions: [Fault.Action], _ fields: [String] = ["Range: bytes=100-199"]
  ) async throws -> WireResponse {
    var fault = Fault()
    fault.actions = actions
    var result: WireResponse?
    try await withResource(fault) { client, _ in
      try await client.request("GET", "/f", fields)
      result = await client.takeResponse()
    }
    return try #require(result)
  }

  @Test func `the range is ignored`() async throws {
    let response = try await get([.ignoreRange])
    #expect(response.status == 200)
    #expect(response.head["Content-Range"] == nil)
    #expect(response.body.count == 100_000)
  }

  @Test func `If-Range is ignored: 206 of the new version, whatever the validator`() async throws {
    let fields = ["Range: bytes=100-199", "If-Range: \"old\""]
    let response = try await get(
      [.content(seed: 9), .entityTag(value: "\"new\""), .ignoreIfRange], fields)
    #expect(response.status == 206)
    #expect(response.head["ETag"] == "\"new\"")
    #expect(SeededContent.matches(seed: 9, response.body, at: 100))
  }

  @Test func `If-Range is refused: 200 even with the right validator`() async throws {
    let fields = ["Range: bytes=100-199", "If-Range: \"seed-2a\""]
    #expect(try await get([.refuseIfRange], fields).status == 200)
    #expect(try await get([.refuseIfRange]).status == 206)
  }

  @Test(
    arguments: [
      ("bytes {first}-{last}/*", "bytes 100-199/*"), ("garbage", "garbage"),
      ("{first}-{last}/{total}", "100-199/100000"), ("bytes 0-9/10", "bytes 0-9/10"),
      ("bytes={first}-{last}/{total}", "bytes=100-199/100000"),
      ("bytes {first}-{last}/99", "bytes 100-199/99"), (nil, nil),
    ] as [(String?, String?)])
  func `Content-Range is as given`(template: String?, reported: String?) async throws {
    let response = try await get([.contentRange(value: template)])
    #expect(response.status == 206)
    #expect(response.head["Content-Range"] == reported)
    #expect(response.body == content.bytes(at: 100, count: 100))
  }

  @Test func `another range is sent, with a correct Content-Range`() async throws {
    let response = try await get([.shiftRange(by: 7)])
    #expect(response.head["Content-Range"] == "bytes 107-199/100000")
    #expect(response.body == content.bytes(at: 107, count: 93))
    let earlier = try await get([.shiftRange(by: -100)])
    #expect(earlier.head["Content-Range"] == "bytes 0-199/100000")
    #expect(earlier.body == content.bytes(at: 0, count: 200))
  }

  @Test func `another range is sent, with the requested Content-Range`() async throws {
    let response = try await get([.shiftRange(by: 7, honest: false)])
    #expect(response.head["Content-Range"] == "bytes 100-199/100000")
    #expect(response.body == content.bytes(at: 107, count: 100))
  }

  @Test func `a shorter range is sent, with a correct Content-Range`() async throws {
    let response = try await get([.shortenRange(to: 10)])
    #expect(response.status == 206)
    #expect(response.head["Content-Range"] == "bytes 100-109/100000")
    #expect(response.head["Content-Length"] == "10")
    #expect(response.body == content.bytes(at: 100, count: 10))
  }

  @Test func `an unrequested 206 is sent`() async throws {
    let response = try await get([.unaskedPartial], [])
    #expect(response.status == 206)
    #expect(response.head["Content-Range"] == "bytes 0-99999/100000")
    #expect(response.body.count == 100_000)
  }

  @Test func `one range is sent as multipart/byteranges`() async throws {
    let response = try await get([.multipart])
    #expect(response.status == 206)
    #expect(
      response.head["Content-Type"] == "multipart/byteranges; boundary=fault-server-part")
    #expect(response.head["Content-Range"] == nil)
    let before = Array(
      """
      --fault-server-part\r\nContent-Type: application/octet-stream\r\n\
      Content-Range: bytes 100-199/100000\r\n\r\n
      """.utf8)
    let after = Array("\r\n--fault-server-part--\r\n".utf8)
    #expect(response.body == before + content.bytes(at: 100, count: 100) + after)
  }

  @Test func `416 is sent with or without the total`() async throws {
    let reported = try await get([.rangeNotSatisfiable()])
    #expect(reported.status == 416)
    #expect(reported.head["Content-Range"] == "bytes */100000")
    #expect(try await get([.rangeNotSatisfiable(withTotal: false)]).head["Content-Range"] == nil)
  }

  @Test func `the length of the resource changes`() async throws {
    let response = try await get([.content(seed: 42, length: 150)])
    #expect(response.head["Content-Range"] == "bytes 100-149/150")
    #expect(response.body == content.bytes(at: 100, count: 50))
  }

  @Test
  func `the content changes with the validators kept, from the second request on`() async throws {
    let fault = Fault(.content(seed: 43), when: .init(firstRequest: 2))
    try await withResource(fault) { client, _ in
      let first = try await client.get("/f")
      let second = try await client.get("/f")
      #expect(content.matches(first.body))
      #expect(SeededContent.matches(seed: 43, second.body))
      #expect(first.head["ETag"] == second.head["ETag"])
    }
  }

  @Test func `the entity tag becomes weak or disappears`() async throws {
    #expect(try await get([.entityTag(value: "W/\"x\"")]).head["ETag"] == "W/\"x\"")
    #expect(try await get([.entityTag(value: nil)]).head["ETag"] == nil)
    #expect(try await get([.lastModified(seconds: nil)]).head["Last-Modified"] == nil)
  }
}
