import HaulCore
import Testing

/// What a message says in the words of the server that refuses an upload.
@Suite struct RefusalReasonTests {
  private static let address = "http://h.example/f"

  private func refusal(
    _ body: String, _ type: String, status: Int = 400, at asked: String = address,
    uploadedTo address: String = address
  ) throws -> String? {
    var machine = PutMachine(
      UploadRequest("/f", to: try ResourceURL(address)), length: 100, hasRun: false,
      isAttended: false, now: Instant())
    _ = machine.handle(.start(nil))
    let head = ResponseHead(
      status: status, headers: HeaderFields([("Content-Type", type)]), url: try ResourceURL(asked))
    let reply = UploadAnswer(
      head, body: Array(body.utf8), sent: 100, wallSeconds: 1_700_000_000)
    return failure(of: machine.handle(.answered(reply)))?.message
  }

  private static let sabre = """
    <?xml version="1.0" encoding="utf-8"?>
    <d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">
      <s:exception>InvalidPath</s:exception>
      <s:message>the name has an invalid character</s:message>
    </d:error>
    """

  @Test(arguments: [
    ("text/plain", "too large\nsee the manual", "too large"),
    ("Text/Plain ;charset=utf-8", "\r\n  the quota is used up \r\n", "the quota is used up"),
    ("text/plain", "a; b\u{1B}[31m", "a, b [31m"),
    ("application/json", #"{"error":"smaller than 5000x5000"}"#, "smaller than 5000x5000"),
    ("application/json", #"{"error":"Bad Request","message":"no album"}"#, "no album"),
    ("application/json", #"{"message":"","error":{"code":7},"title":"too old"}"#, "too old"),
    ("application/problem+json", #"{"title":"No credit","detail":"it is 30"}"#, "it is 30"),
    ("application/xml", sabre, "the name has an invalid character"),
    ("text/xml", "<Error><Code>A</Code><Message>expired</Message></Error>", "expired"),
  ])
  func `The reason is the first line of a text, or the message of a document`(
    type: String, body: String, reason: String
  ) throws {
    #expect(
      try refusal(body, type)
        == "the server answered 400 (it says: \(reason)); the file was not taken")
  }

  @Test(arguments: [
    ("text/html", "<h1>no</h1>"), ("text/plain", " <!DOCTYPE html>"), ("text/plain", " \n no"),
    ("application/json", "[1]"), ("application/json", #"{"error":"cut"#),
    ("application/json", #"{"error":true}"#), ("application/xml", "<error><message>cut"),
    ("application/xml", "<page><message>no</message></page>"), ("image/png", "no"), ("", "no"),
  ])
  func `A page, and a document that is not known, give no reason`(
    type: String, body: String
  ) throws {
    #expect(try refusal(body, type) == "the server answered 400; the file was not taken")
  }

  @Test func `The reason is short, and comes before what to do`() throws {
    let long = try refusal(String(repeating: "x", count: 10_000), "text/plain")
    #expect(long?.utf8.count ?? .max < 300)
    #expect(
      try refusal("full", "text/plain", status: 507)
        == "the server answered 507 (it says: full); it has no room for the file: free "
        + "space there, or get a larger quota")
  }

  @Test(arguments: [
    ("token TOKSEC1 has expired", "/f?token=TOKSEC1", []),
    ("denied for /f;token=TOKSEC1", "/f;token=TOKSEC1", []),
    ("bad key K3Y4", "/f", [("X-Key", "K3Y4")]),
    ("no joe/geheim", "/f", [("Authorization", "Basic am9lOmdlaGVpbQ==")]),
  ])
  func `A secret of the request is not repeated`(
    words: String, path: String, fields: [(String, String)]
  ) throws {
    var request = UploadRequest("/f", to: try ResourceURL("http://h.example\(path)"))
    request.headers = HeaderFields(fields)
    var machine = PutMachine(
      request, length: 100, hasRun: false, isAttended: false, now: Instant())
    _ = machine.handle(.start(nil))
    let head = ResponseHead(
      status: 400, headers: HeaderFields([("Content-Type", "text/plain")]), url: request.url)
    let answer = UploadAnswer(head, body: Array(words.utf8), sent: 100, wallSeconds: 0)
    let message = failure(of: machine.handle(.answered(answer)))?.message
    #expect(message == "the server answered 400; the file was not taken")
  }

  @Test(arguments: [
    (address, address, "/f", true), ("\(address)?key=7", "\(address)?key=7", "/f?key=7", false),
    ("http://h.example/up/7", address, "/up/7", false),
  ])
  func `An address that is a secret is not repeated`(
    asked: String, address: String, named: String, isShown: Bool
  ) throws {
    let message = try refusal(
      "PUT \(named) is unknown", "text/plain", at: asked, uploadedTo: address)
    #expect(message?.contains("is unknown") == isShown)
  }
}
