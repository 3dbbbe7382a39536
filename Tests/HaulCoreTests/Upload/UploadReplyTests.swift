import HaulCore
import Testing

/// What a server says about a file that it has taken.
@Suite struct UploadReplyTests {
  /// An answer to a POST of 100 bytes.
  private func reply(
    _ body: [UInt8], type: String? = nil, location: String? = nil, isWhole: Bool = true,
    status: Int = 201, fields: [(String, String)] = []
  ) throws -> UploadReply? {
    let url = try ResourceURL("http://h.example/up?token=a%2Fsecret&name=photo.png")
    var request = UploadRequest("/f", to: url)
    request.method = .post
    request.headers = HeaderFields(fields)
    var machine = PutMachine(
      request, length: 100, hasRun: false, isAttended: false, now: Instant())
    _ = machine.handle(.start(nil))
    let headers = [("Content-Type", type), ("Location", location)]
      .compactMap { name, value in value.map { (name, $0) } }
    let head = ResponseHead(status: status, headers: HeaderFields(headers), url: url)
    let answer = UploadAnswer(head, body: body, isWhole: isWhole, sent: 100, wallSeconds: 0)
    let replies = machine.handle(.answered(answer)).compactMap { command -> UploadReply? in
      if case .reportReply(let reply) = command { reply } else { nil }
    }
    return replies.first
  }

  @Test(arguments: [
    ("text/plain", "https://x.example/abc\n", "https://x.example/abc"),
    ("text/html; charset=utf-8", "https://x.example/é\r\n", "https://x.example/é"),
    ("application/json", "{\n\t\"id\": 7\n}\n", "{\n\t\"id\": 7\n}"),
    (nil, "a\r\nb\r\n", "a\nb"), ("application/xml", "<link/>", "<link/>"),
  ])
  func `The text of the answer is reported`(type: String?, body: String, text: String) throws {
    #expect(try reply(Array(body.utf8), type: type) == UploadReply(text: text))
  }

  @Test func `A page, and what is not text, too long or cut off, is left out`() throws {
    #expect(try reply(Array(" <html>".utf8), type: "Text/HTML") == nil)
    #expect(try reply([0xFF], type: "text/plain") == nil)
    for page in ["\n<!DOCTYPE html><p>x", "<?xml version='1.0'?><HTML>"] {
      #expect(try reply(Array(page.utf8), type: "text/xml") == nil)
    }
    for unsafe in ["a\u{1B}[31m", "a\u{202E}b", "a\u{85}b", "\u{0}", " \r\n", "a\rb", "a\r\r\nb"] {
      #expect(try reply(Array(unsafe.utf8)) == nil)
    }
    #expect(try reply(Array("{\"id\":".utf8), isWhole: false) == nil)
    let most = Array(repeating: UInt8(ascii: "a"), count: 16 << 10)
    #expect(try reply(most)?.text?.utf8.count == most.count)
    #expect(try reply(most + [0x61]) == nil)
  }

  @Test(arguments: [
    ("/files/1?k=v", "http://h.example/files/1?k=v"),
    ("https://o.example/é", "https://o.example/%C3%A9"),
    ("https://u:p@o.example/", nil), ("//[", nil),
  ])
  func `The address that the server gives the file is reported in full`(
    location: String, address: String?
  ) throws {
    #expect(try reply([], location: location)?.location == address)
    #expect(try reply([], location: location, status: 303)?.location == address)
    #expect(try reply(Array("see there".utf8), status: 303) == nil)
  }

  @Test(arguments: [
    ("Authorization", "Bearer t0ken-value"), ("Authorization", "Basic dXNlcjpzZWNyZXQ="),
    ("X-Key", "t0ken-value"), ("Cookie", "a=t0ken-value; b=c"),
  ])
  func `What repeats a credential is left out`(name: String, value: String) throws {
    let secret = value.contains("dXNl") ? "secret" : "t0ken-value"
    for words in ["you sent \(secret)", "\(value)", value.uppercased()] {
      #expect(try reply(Array(words.utf8), fields: [(name, value)]) == nil)
    }
    #expect(try reply([], location: "/\(secret)", fields: [(name, value)]) == nil)
    for words in ["a/secret", "https://h.example/up?token=a%2Fsecret"] {
      #expect(try reply(Array(words.utf8)) == nil)
    }
    #expect(try reply(Array("https://h.example/photo.png".utf8))?.text != nil)
    let innocent = #"{"token_type":"Bearer"}"#
    #expect(try reply(Array(innocent.utf8), fields: [(name, value)])?.text == innocent)
    let type = [("Content-Type", "image/png")]
    // A password may be encoded.
    let odd = [("X-Key", #"p/w"&ö"#)]
    for words in [#"{"k":"p\/w\"\u0026\u00f6"}"#, "/x?k=p%2Fw%22%26%C3%B6", "p/w&quot;&amp;ö"] {
      #expect(try reply(Array(words.utf8), fields: odd) == nil, "\(words)")
    }
    #expect(try reply(Array("image/png".utf8), fields: type)?.text == "image/png")
  }
}
