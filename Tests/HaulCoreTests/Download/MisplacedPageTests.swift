import HaulCore
import Testing

@Suite
struct MisplacedPageTests {
  private func page(
    _ address: String, _ type: String? = "text/html; charset=utf-8", as name: String? = nil,
    coding: String? = nil, isDecoded: Bool = false
  ) throws -> MisplacedPage? {
    let url = try ResourceURL("https://h.example/\(address)")
    var head = ResponseHead(status: 200, headers: [:], url: url)
    if let type { head.headers.append("Content-Type", type) }
    if let coding { head.headers.append("Content-Encoding", coding) }
    return MisplacedPage(type == nil ? nil : head, isDecoded: isDecoded, at: url, named: name)
  }

  private static let login = Array("<!DOCTYPE html><title>Log in</title>".utf8)

  @Test(arguments: [
    "a.iso", "a.tar.gz", "a.7z", "a.mp4", "a.csv", "a.safetensors", "a.ISO", "a.part1.rar",
    "a.weights", "a.py",
  ])
  func `The page of a login is no such file`(address: String) throws {
    #expect(try page(address)?.error(Self.login)?.code == .webPage)
  }

  @Test(arguments: [
    "a.html", "a.HTM", "a", "", "a.php", "v1.2", "h.example.org", "h.example.co.uk", "a.b-c",
  ])
  func `A page may be what such an address is of`(address: String) throws {
    #expect(try page(address) == nil)
  }

  @Test func `The name of the file counts too, and that of a page says that one is wanted`()
    throws
  {
    #expect(try page("get", as: "a.iso") != nil)
    #expect(try page("a.php", as: "a.iso") != nil)
    #expect(try page("a.iso", as: "a") != nil)
    #expect(try page("a.iso", as: "a.html") == nil)
    #expect(try page("a.html", as: "a.txt") == nil)
  }

  @Test func `A file that is called a page is told by its first bytes`() throws {
    let zip: [UInt8] = [0x50, 0x4B, 3, 4, 0x14, 0, 0, 0]
    #expect(try page("a.zip")?.error(zip) == nil)
    #expect(try page("a.zip")?.error(Array("not allowed".utf8))?.code == .webPage)
    #expect(try page("a.csv")?.error(Array("a,b\n1,2".utf8)) == nil)
    #expect(try page("get", as: "a.fasta")?.error(Array(">seq\nACGT".utf8)) == nil)
    #expect(try page("a.svg")?.error(Array("<?xml version='1.0'?><svg>".utf8)) == nil)
    #expect(try page("a.json")?.error(Array("\u{FEFF}\r\n <HTML lang=en>".utf8))?.code == .webPage)
    #expect(try page("a.xml")?.error(Array("<body>".utf8))?.code == .webPage)
    #expect(try page("a.xml")?.error(Array("<books>".utf8)) == nil, "that is no <b>")
    #expect(try page("a.iso")?.error([]) == nil)
    let wide: [UInt8] = [0xFF, 0xFE] + Self.login.flatMap { [$0, 0] as [UInt8] }
    #expect(try page("a.iso")?.error(wide)?.code == .webPage)
    #expect(try page("a.csv")?.error(wide)?.code == .webPage)
  }

  @Test func `Encoded bytes show nothing, so the type decides`() throws {
    let gzip: [UInt8] = [0x1F, 0x8B, 8, 0]
    #expect(try page("a.iso", coding: "gzip")?.error(gzip)?.code == .webPage)
    #expect(try page("a.iso", coding: "gzip", isDecoded: true)?.error(gzip) == nil)
  }

  @Test func `Without an answer, only a document of HTML is a page`() throws {
    #expect(try page("a.iso", "application/octet-stream") == nil)
    #expect(try page("a.iso", nil)?.error(Self.login)?.code == .webPage)
    #expect(try page("a.iso", nil)?.error(Array("not allowed".utf8)) == nil)
    #expect(try page("a.md", nil)?.error(Array("<p align=center>".utf8)) == nil)
  }

  @Test func `A whole page of an earlier run is looked at before it is published`() throws {
    var script = try MachineScript(received: [0..<20], length: 20)
    check(script.resume(tag: "\"p\"", length: 20, fileName: "a.iso"), is: ["verifying", "verify"])
    check(script.send(.verified(TransferError(.webPage, "a page"))), is: ["failed web-page"])
    var file = try MachineScript(received: [0..<20], length: 20)
    _ = file.resume(tag: "\"p\"", length: 20, fileName: "a.iso")
    check(file.send(.verified(nil)), is: ["publishing", "publish 20"])
  }

  @Test func `So is one that an answer with a part of it continues`() throws {
    for (type, isPage) in [("text/html", true), ("application/zip", false)] {
      var script = try MachineScript(received: [0..<10], length: 20)
      _ = script.resume(tag: "\"p\"", length: 20, fileName: "a.zip")
      let fields = [
        "Content-Range: bytes 10-19/20", "Content-Length: 10", "ETag: \"p\"",
        "Content-Type: \(type)",
      ]
      _ = try script.answer(1, 206, fields)
      script.write(1, 10)
      check(
        script.end(1), is: isPage ? ["verifying", "verify"] : ["publishing", "publish 20"])
    }
  }

  @Test func `A digest of the user's decides alone`() throws {
    var script = try MachineScript(received: [0..<20], length: 20) {
      $0.request.checksums = [Checksum("md5=00112233445566778899aabbccddeeff")].compactMap(\.self)
    }
    let commands = script.machine.handle(
      .start(
        .init(
          .init(
            version: .init(validator: .none, length: 20), isSameAddress: true,
            mayMixVersions: false, comparisonRanges: [], location: nil), fileName: "a.iso")),
      in: .init(), plan: &script.plan, at: script.now)
    guard case .verify(let checksums, orPage: nil)? = commands.last else {
      Issue.record("\(commands)")
      return
    }
    #expect(checksums.count == 1)
  }
}
