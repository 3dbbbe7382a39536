import HaulCore
import Testing

/// An address that a server names.
@Suite struct ServerNamedAddressTests {
  private let base: ResourceURL

  init() throws { base = try ResourceURL("https://user:pass@h.example:8443/files/?a=b") }

  @Test func `is relative to the address that was asked`() throws {
    #expect(try base.named(by: "../x").absoluteString == "https://h.example:8443/x")
    #expect(try base.named(by: "//o.example/x").origin.host == "o.example")
    #expect(try base.named(by: "https://o.example/x").credentials == nil)
  }

  @Test(arguments: [
    "/t ", " /t\t", "https://h.example:8443/q/../t", "//h.example:8443/./t ",
    "//@h.example:8443/t",
  ])
  func `has no white space around it, no dot segments and no empty user`(location: String) throws {
    #expect(try base.named(by: location).absoluteString == "https://h.example:8443/t")
  }

  @Test(arguments: [
    "http://h.example:8443/x", "http://o.example/x", "https://u@h.example:8443/x",
    "https://u:p@o.example/x", "ftp://h.example/x", "file:///etc/passwd", "data:,x",
  ])
  func `is refused over http, with a user name, or with another scheme`(location: String) {
    let error = #expect(throws: TransferError.self) { try base.named(by: location) }
    #expect(error?.code == .redirectRefused)
  }

  @Test func `is at most 32 KiB long: it is kept, and sent back`() throws {
    let longest = String(repeating: "l", count: ResourceURL.longestNamedAddress - 1)
    #expect(try base.named(by: "/" + longest).path.utf8.count == longest.utf8.count + 1)
    for name in [base.named, base.uploadTarget] {
      let error = #expect(throws: TransferError.self) { try name("/l" + longest) }
      #expect(error?.code == .redirectRefused)
    }
  }

  @Test func `may lead from http to https`() throws {
    let plain = try ResourceURL("http://h.example/f")
    #expect(try plain.named(by: "https://h.example/f").origin.scheme == "https")
  }

  @Test(arguments: ["http://h.example:8443/u/1?k=v", "http://h.example/u/1?k=v"])
  func `of an upload keeps https where the server names its own host with http`(location: String)
    throws
  {
    let target = try base.uploadTarget(named: location)
    #expect(target.absoluteString == "https://h.example:8443/u/1?k=v")
    #expect(target.credentials == base.credentials)
  }

  @Test(arguments: [
    "http://o.example/u/1", "http://h.example:8080/u/1", "https://u@h.example:8443/u/1",
    "//x@h.example:8443/u", "ftp://h.example/u",
  ])
  func `of an upload is refused at another host or port over http, and with a user name`(
    location: String
  ) {
    let error = #expect(throws: TransferError.self) { try base.uploadTarget(named: location) }
    #expect(error?.code == .redirectRefused)
  }

  @Test func `at another origin gets no user information of the first`() throws {
    let target = try base.uploadTarget(named: "https://o.example/u/1")
    #expect(target.credentials == nil)
    #expect(try base.uploadTarget(named: "/u/1").credentials == base.credentials)
  }

  @Test func `whose path begins with two slashes stays at the origin that keeps https`() throws {
    let target = try base.uploadTarget(named: "http://h.example//evil.example/u")
    #expect(target.origin == base.origin)
    #expect(target.path == "//evil.example/u")
  }

  @Test func `gets no secret of another origin, and no unchecked certificate`() throws {
    var request = FetchRequest(
      url: base, headers: ["Authorization": "x", "Accept": "y"], allowInsecure: true)
    request = request.redirected(to: try base.named(by: "https://o.example/x"))
    #expect(request.hasLeftOrigin)
    #expect(!request.allowInsecure)
    #expect(request.headers.map(\.name) == ["Accept"])
    #expect(request.redirectingOrigin == base.origin)
  }

  @Test func `keeps everything at its own origin, and is known as the server's choice`() throws {
    let request = FetchRequest(url: base, headers: ["Authorization": "x"], allowInsecure: true)
      .redirected(to: try base.named(by: "/x"))
    #expect(!request.hasLeftOrigin)
    #expect(request.allowInsecure)
    #expect(request.headers["Authorization"] == "x")
    #expect(request.redirectingOrigin == base.origin)
  }
}
