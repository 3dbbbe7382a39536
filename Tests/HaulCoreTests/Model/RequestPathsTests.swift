import HaulCore
import Testing

/// Paths of requests.
@Suite struct RequestPathsTests {
  private func download(_ destination: DownloadRequest.Destination) throws -> TransferRequest {
    .download(try ResourceURL("http://h/f"), to: destination)
  }

  @Test(arguments: [
    ("f", "/w/f"), ("d/f", "/w/d/f"), ("../f", "/w/../f"), ("./f", "/w/./f"), ("/d/f", "/d/f"),
  ])
  func `A relative path starts in the working directory`(path: String, expected: String) throws {
    let request = try download(.file(path))
    #expect(request.hasRelativePath == (path != expected))
    #expect(request.absolute(in: "/w").download?.destination == .file(expected))
    #expect(
      try download(.directory(path)).absolute(in: "/w").download?.destination
        == .directory(expected))
    #expect(!request.absolute(in: "/w").hasRelativePath)
  }

  @Test(arguments: ["", "."])
  func `The working directory is resolved without a dot`(path: String) throws {
    let request = try download(.directory(path))
    #expect(request.absolute(in: "/w").download?.destination == .directory("/w"))
    #expect(try download(.file("f")).absolute(in: "/").download?.destination == .file("/f"))
  }

  @Test func `A program runs in the directory that was current when it was added`() {
    for (given, expected) in [(nil, "/w"), ("d", "/w/d"), ("/d", "/d")] {
      let request = TransferRequest.step(program: ["ls"], in: given)
      #expect(
        request.absolute(in: "/w").work
          == TransferRequest.step(program: ["ls"], in: expected).work)
    }
  }

  @Test func `Streams and named steps have no path`() throws {
    #expect(try !download(.stream).hasRelativePath)
    #expect(!TransferRequest.step("s", input: "a/b").hasRelativePath)
  }

  @Test func `A path with a NUL is refused, not truncated`() throws {
    for request in [
      try download(.file("d\0x")), try download(.directory("\0")),
      .step(program: ["ls"], in: "d\0x"),
    ] {
      let error = #expect(throws: TransferError.self) { try request.checkPaths() }
      #expect(error?.code == .badName)
      #expect(error?.message.utf8.contains(0) == false)
    }
  }

  @Test func `A file cannot have the name of a part file or a journal`() throws {
    for name in ["x.haul.part", "d/X.Haul.Journal", ".haul.part"] {
      let error = #expect(throws: TransferError.self) { try download(.file(name)).checkPaths() }
      #expect(error?.code == .badName)
    }
    try download(.file("x.part")).checkPaths()
    try download(.directory("x.haul.part")).checkPaths()
  }
}
