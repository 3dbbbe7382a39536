import HaulCore
import Testing

/// Where an upload goes after the store has said that its bucket is somewhere else.
@Suite struct S3PlaceTests {
  private typealias Script = S3MachineTests

  /// What the machine does at this address when the store names another place.
  private func commands(
    at address: String, region: String = "us-east-1", _ answer: UploadEvent
  ) throws -> [UploadCommand] {
    let url = try ResourceURL("https://AK:SK@\(address)")
    var machine = try Script.machine(33 << 20) { ($0.url, $0.region) = (url, region) }
    _ = machine.handle(.start(nil))
    return machine.handle(answer)
  }

  @Test(arguments: [
    ("amazonaws.eu", "eusc-de-east-1", "eusc-de-west-1"),
    ("c2s.ic.gov", "us-iso-east-1", "us-iso-west-1"),
  ])
  func `A redirect within a partition of Amazon is followed`(
    domain: String, old: String, new: String
  ) throws {
    let body =
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>\(new)</Region></Error>"
    let create = try message(
      commands(at: "b-1.s3.\(old).\(domain)/k", region: old, answer(400, body: body)))
    #expect(create.url.absoluteString == "https://b-1.s3.\(new).\(domain)/k?uploads")
    #expect(create.signing?.region == new)
  }

  @Test(arguments: [
    "https://b-1.s3.eusc-de-east-1.amazonaws.eu/k", "https://b-1.s3.cn-north-1.amazonaws.com.cn/k",
    "https://b-1.s3.us-iso-east-1.c2s.ic.gov/k", "https://s3.amazonaws.com.example/b-1/k",
  ])
  func `A redirect to another partition is refused`(target: String) throws {
    let moved = try answer(307, [("Location", target)], body: Script.refusal("TemporaryRedirect"))
    let end = failure(of: try commands(at: "b-1.s3.us-east-1.amazonaws.com/k", moved))
    #expect(end?.code == .redirectRefused)
  }

  @Test(arguments: ["b-1.h.example", "b-1.h.example:443"])
  func `The key is kept whole where the bucket is in the host's name`(endpoint: String) throws {
    let body =
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>r-2</Region>"
      + "<Endpoint>\(endpoint)</Endpoint></Error>"
    let create = try message(commands(at: "b-1.h.example/b-1/k", answer(400, body: body)))
    #expect(create.url.path == "/b-1/k")
    #expect(create.signing?.region == "r-2")
  }
}
