import HaulCore
import Testing

/// What answers of an S3 store mean.
@Suite struct S3AnswerTests {
  private typealias Script = S3MachineTests

  @Test(arguments: ["InternalError", "SlowDown"])
  func `A success with an error in its body is an error`(code: String) throws {
    var machine = try Script.completing()
    #expect(retried(machine.handle(try answer(200, body: Script.refusal(code)))) != nil)
    #expect(machine.handle(.start(nil)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "POST")
    let head = try message(machine.handle(try answer(200, body: Script.completed)))
    #expect(head.method == "HEAD")
    #expect(machine.handle(try answer(403)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A success to the creation with an error in its body is asked for again`() throws {
    var machine = try Script.machine(33 << 20)
    #expect(try message(machine.handle(.start(nil))).method == "POST")
    let answer = try answer(200, body: Script.refusal("SlowDown"))
    #expect(retried(machine.handle(answer)) != nil)
  }

  @Test func `Without its mark, an object of these parts is that of the lost answer`() throws {
    var machine = try Script.completing()
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(retried(machine.handle(.failed(lost, sent: 0))) != nil)
    #expect(machine.handle(.start(nil)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "POST")
    let gone = try answer(404, body: Script.refusal("NoSuchUpload"))
    #expect(try message(machine.handle(gone)).method == "HEAD")
    let object = try answer(
      200, [("Content-Length", "\(33 << 20)"), ("ETag", "\"\(Self.joined)-3\"")])
    #expect(machine.handle(object).last == .finish(.completed))
  }

  /// The object, as HEAD describes it after the completion.
  private static func described(_ length: Int64, mark: String) throws -> [UploadCommand] {
    var machine = try Script.completing()
    var other = try Script.machine(33 << 20)
    // The mark is random, but the generator of the tests is not.
    let ours = try message(other.handle(.start(nil))).fields["x-amz-meta-haul-upload"]
    _ = machine.handle(try answer(200, body: Script.completed))
    return machine.handle(
      try answer(
        200,
        [
          ("Content-Length", "\(length)"),
          ("x-amz-meta-haul-upload", mark.isEmpty ? try #require(ours) : mark),
        ]))
  }

  @Test func `An object that lacks a part is an error`() throws {
    let commands = try Self.described(17 << 20, mark: "")
    #expect(commands.first == .deleteRecord)
    #expect(failure(of: commands)?.code == .checksumMismatch)
    // Some stores do not keep the mark.
    var unmarked = try Script.completing()
    _ = unmarked.handle(try answer(200, body: Script.completed))
    let short = unmarked.handle(try answer(200, [("Content-Length", "\(17 << 20)")]))
    #expect(failure(of: short)?.code == .checksumMismatch)
    let done: [UploadCommand] = [.deleteRecord, .finish(.completed)]
    #expect(try Self.described(33 << 20, mark: "") == done)
    // Another upload has replaced it in the meantime.
    #expect(try Self.described(17 << 20, mark: "another") == done)
  }

  @Test(arguments: ["ExpiredToken", "RequestExpired", "TokenRefreshRequired"])
  func `A key that has expired is asked for again, if it is a role's`(code: String) throws {
    func error(_ source: S3KeySource?) throws -> TransferError? {
      var machine = try Script.machine(5) { $0.keySource = source }
      _ = machine.handle(.start(nil))
      _ = machine.handle(Script.digest(1))
      let commands = machine.handle(try answer(400, body: Script.refusal(code), part: 1))
      return retried(commands) ?? failure(of: commands)
    }
    #expect(try error(S3KeySource(.container, region: "r"))?.isRetryable == true)
    #expect(try error(nil)?.isRetryable == false)
  }

  /// The MD5 of those of the parts.
  private static let joined = "ef2c5f0e74f5f9224fa8cec6c947d732"

  @Test(arguments: [joined, joined.uppercased()])
  func `An object whose tag is that of its parts is not asked for`(joined: String) throws {
    var machine = try Script.completing()
    let made = try answer(200, body: Script.completed(tag: joined + "-3"))
    #expect(machine.handle(made) == [.deleteRecord, .finish(.completed)])
  }

  @Test(arguments: [joined, joined + "-2", Script.hex(1) + "-3", ""])
  func `An object with another tag is asked for its length`(tag: String) throws {
    var machine = try Script.completing()
    let made = try answer(200, body: Script.completed(tag: tag))
    #expect(try message(machine.handle(made)).method == "HEAD")
  }

  @Test func `Without an answer about the object, its completion counts`() throws {
    var machine = try Script.completing()
    _ = machine.handle(try answer(200, body: Script.completed))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(machine.handle(.failed(lost, sent: 0)) == [.deleteRecord, .finish(.completed)])
  }

  @Test(arguments: ["AccessDenied", "EntityTooSmall", "Odd-Code"])
  func `A success with a final error in its body fails`(code: String) throws {
    var machine = try Script.completing()
    let error = failure(of: machine.handle(try answer(200, body: Script.refusal(code))))
    #expect(error?.message.contains(code) == true)
  }

  @Test(arguments: ["", "  \n", "<CompleteMultipartUploadResult><ETag>", "<Html></Html>"])
  func `An answer to the completion that is cut off is asked for again`(body: String) throws {
    var machine = try Script.completing()
    #expect(retried(machine.handle(try answer(200, body: body))) != nil)
  }

  @Test(arguments: [
    ("", true), ("<InitiateMultipartUploadResult><UploadId>u1</Up", true), ("<?xml", false),
    (Script.created, false),
  ])
  func `An answer to the creation that is cut off is asked for again`(
    body: String, isWhole: Bool
  ) throws {
    var machine = try Script.machine(33 << 20)
    #expect(try message(machine.handle(.start(nil))).method == "POST")
    let cut = try answer(200, body: body, isWhole: isWhole)
    #expect(retried(machine.handle(cut))?.code == .connectionLost)
    #expect(try message(machine.handle(.start(nil))).method == "POST")
    let other = try answer(200, body: "<Other><UploadId>u1</UploadId></Other>")
    #expect(failure(of: machine.handle(other))?.code == .protocolViolation)
  }

  @Test func `Parts that the store lost are listed again`() throws {
    var machine = try Script.completing()
    #expect(retried(machine.handle(try answer(400, body: Script.refusal("InvalidPart")))) != nil)
    #expect(try message(machine.handle(.start(nil))).method == "GET")
  }

  @Test func `A part without an entity tag is not done`() throws {
    var machine = try Script.sending()
    _ = machine.handle(Script.digest(1))
    let error = failure(of: machine.handle(try answer(200, sent: 16 << 20, part: 1)))
    #expect(error?.code == .protocolViolation)
  }

  /// Sends a file as one object, which the store answers with these fields.
  private static func single(_ fields: [(String, String)]) throws -> [UploadCommand] {
    var machine = try Script.machine(5)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Script.digest(1))
    return machine.handle(try answer(200, fields, sent: 5, part: 1))
  }

  @Test func `An object without an entity tag is not done: something else answered`() throws {
    let error = failure(of: try Self.single([("Content-Type", "text/html")]))
    #expect(error?.code == .protocolViolation)
  }

  @Test func `An object whose entity tag is the MD5 of other bytes is an error`() throws {
    let error = failure(of: try Self.single([("ETag", "\"\(Script.hex(2))\"")]))
    #expect(error?.code == .checksumMismatch && error?.isRetryable == false)
  }

  @Test(arguments: [
    [("ETag", "\"\(Script.hex(1))\"")], [("ETag", "\"8DD0F5A\"")],
    [("ETag", Script.hex(2)), ("x-amz-server-side-encryption", "aws:kms")],
    [("ETag", Script.hex(2)), ("X-Amz-Server-Side-Encryption-Customer-Algorithm", "AES256")],
    [("ETag", Script.hex(2)), ("x-goog-encryption-kms-key-name", "k")],
  ])
  func `A tag that is no MD5 of the bytes says nothing`(fields: [(String, String)]) throws {
    #expect(try Self.single(fields) == [.reportAcknowledged(5), .checkSource])
  }

  @Test(arguments: [
    ("PermanentRedirect", 301, TransferError.Remedy.region),
    ("AuthorizationHeaderMalformed", 400, .region), ("TemporaryRedirect", 307, .endpoint),
  ])
  func `A bucket that is elsewhere is an error with a remedy`(
    code: String, status: Int, remedy: TransferError.Remedy
  ) throws {
    var machine = try Script.machine(5)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Script.digest(1))
    let error = failure(
      of: machine.handle(try answer(status, body: Script.refusal(code), sent: 5, part: 1)))
    #expect(error?.code == .redirectRefused && error?.remedy == remedy)
  }

  @Test func `A part that is answered before all its bytes is not done`() throws {
    var machine = try Script.sending()
    _ = machine.handle(Script.digest(1))
    let error = failure(of: machine.handle(try answer(200, [("ETag", "t")], sent: 5, part: 1)))
    #expect(error?.code == .protocolViolation)
  }

  @Test(arguments: [
    ("AccessDenied", 403, TransferError.Code.forbidden), ("NoSuchBucket", 404, .notFound),
    ("SignatureDoesNotMatch", 403, .unauthorized), ("ExpiredToken", 400, .unauthorized),
    ("EntityTooLarge", 400, .tooLarge), ("InvalidArgument", 400, .httpStatus),
  ])
  func `A refusal is named`(code: String, status: Int, expected: TransferError.Code) throws {
    var machine = try Script.machine(33 << 20)
    _ = machine.handle(.start(nil))
    let refused = try answer(status, body: Script.refusal(code))
    var commands = machine.handle(refused)
    // It may be about the fields of checksums: without them it is refused again.
    if case .send? = commands.last { commands = machine.handle(refused) }
    let error = failure(of: commands)
    #expect(error?.code == expected)
    #expect(error?.message.contains(code) == true)
  }

  @Test(arguments: ["BadDigest", "RequestTimeout", "SlowDown"])
  func `A part that arrived damaged, or too fast, is sent again`(code: String) throws {
    var machine = try Script.sending()
    _ = machine.handle(Script.digest(1))
    let refused = try answer(400, body: Script.refusal(code), part: 1)
    #expect(retried(machine.handle(refused)) != nil)
    #expect(machine.handle(.start(nil)) == [.digest(0..<(16 << 20), part: 1, [.md5])])
  }

  @Test func `A bucket that stays elsewhere is named with its region, and no text of the server`()
    throws
  {
    var machine = try Script.machine(1)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Script.digest(1))
    let elsewhere = try answer(
      301, [("x-amz-bucket-region", "eu-west-1")],
      body: "<Error><Code>PermanentRedirect</Code><Message>evil\u{7}</Message></Error>", part: 1)
    _ = machine.handle(elsewhere)
    _ = machine.handle(Script.digest(1))
    let error = try #require(failure(of: machine.handle(elsewhere)))
    #expect(error.message.contains("eu-west-1"))
    #expect(!error.message.contains("evil"))
  }

  @Test(arguments: [
    ("AuthorizationHeaderMalformed", 400), ("PermanentRedirect", 301), ("", 301), ("", 400),
  ])
  func `A bucket in another region is asked for there`(code: String, status: Int) throws {
    var machine = try Script.machine(33 << 20)
    _ = machine.handle(.start(nil))
    let elsewhere = try answer(
      status, [("x-amz-bucket-region", "eu-west-1")], body: code.isEmpty ? "" : Script.refusal(code)
    )
    let create = try message(machine.handle(elsewhere))
    #expect((create.method, create.signing?.region) == ("POST", "eu-west-1"))
    #expect(create.url.credentials != nil)
  }

  @Test func `A redirect to the store's own host is followed, with the key`() throws {
    for target in ["https://h.example/eu/b/k?x=1", "https://b.h.example/k"] {
      var machine = try Script.machine(33 << 20)
      _ = machine.handle(.start(nil))
      let moved = try answer(
        307, [("Location", target)], body: Script.refusal("TemporaryRedirect"))
      let create = try message(machine.handle(moved))
      #expect(create.url.absoluteString == target.prefix { $0 != "?" } + "?uploads")
      #expect(create.url.credentials != nil)
    }
  }

  @Test(arguments: [
    ("bkt.s3.us-east-1.amazonaws.com/k/f", "bkt.s3-us-west-2.amazonaws.com", "/k/f"),
    ("bkt.s3.us-east-1.amazonaws.com/k/f", "s3.us-west-2.amazonaws.com", "/bkt/k/f"),
    ("s3.us-east-1.amazonaws.com/bkt/k", "bkt.s3-us-west-2.amazonaws.com", "/k"),
    ("s3.us-east-1.amazonaws.com/bkt/k", "s3-us-west-2.amazonaws.com", "/bkt/k"),
  ])
  func `An endpoint that the store names gets the bucket in its host or its path`(
    given: String, endpoint: String, path: String
  ) throws {
    var machine = try Script.machine(33 << 20) {
      $0.url = (try? ResourceURL("https://AK:SK@\(given)")) ?? $0.url
    }
    _ = machine.handle(.start(nil))
    let body =
      "<Error><Code>PermanentRedirect</Code><Endpoint>\(endpoint)</Endpoint></Error>"
    let create = try message(machine.handle(try answer(301, body: body)))
    #expect((create.url.origin.host, create.url.path) == (endpoint, path))
  }

  @Test(arguments: [
    "https://other.example/b/k", "http://h.example/b/k", "https://h.example:81/b/k",
    "https://h.example.evil.example/b/k", "https://evilh.example/b/k",
  ])
  func `A redirect to another store is refused`(target: String) throws {
    var machine = try Script.machine(33 << 20)
    _ = machine.handle(.start(nil))
    let moved = try answer(307, [("Location", target)], body: Script.refusal("TemporaryRedirect"))
    #expect(failure(of: machine.handle(moved))?.code == .redirectRefused)
  }

  @Test func `A clock that differs is set by the server's, for all parts that are under way`()
    throws
  {
    var machine = try Script.machine(33 << 20) { $0.retry.retries = 2 }
    _ = machine.handle(.start(nil))
    let skewed = try answer(
      403, [("Date", "Tue, 14 Nov 2023 23:13:20 GMT")],
      body: Script.refusal("RequestTimeTooSkewed"))
    let first = try #require(retried(machine.handle(skewed)))
    #expect(first.message.contains("this machine's clock is wrong"))
    let create = try message(machine.handle(.start(nil)))
    #expect(create.signing?.clockOffset == 3600)
    // One that was signed before is no reason to fail.
    #expect(retried(machine.handle(skewed)) != nil)
    _ = machine.handle(.start(nil))
    #expect(failure(of: machine.handle(skewed))?.message.contains("clock") == true)
  }

  @Test func `A single request that came too late does not blame the clock`() throws {
    var machine = try Script.machine(33 << 20)
    _ = machine.handle(.start(nil))
    let late = try answer(403, body: Script.refusal("RequestTimeTooSkewed"))
    let error = try #require(retried(machine.handle(late)))
    #expect(error.message.contains("it got the request too late, or a clock is wrong"))
  }

  @Test(arguments: [
    ("QuotaExceeded", 403), ("XMinioStorageFull", 507), ("Odd_Code.1", 400), ("New", 409),
  ])
  func `A code that is not known is shown with the store's words, without control characters`(
    code: String, status: Int
  ) throws {
    var machine = try Script.machine(33 << 20) { $0.retry.retries = 0 }
    _ = machine.handle(.start(nil))
    let body =
      "<Error><Code>\(code)\u{1B}[31m</Code><Message>no\nroom \u{1B}[2J\u{202E}</Message></Error>"
    let error = try #require(failure(of: machine.handle(try answer(status, body: body))))
    #expect(error.message.contains("(\(code) [31m); it says: no room [2J"))
    #expect(!error.message.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
  }

  @Test func `A store's words that repeat a field of the request are not shown`() throws {
    var machine = try S3MachineTests.machine(33 << 20) { $0.headers = [("X-Key", "K3Y4")] }
    _ = machine.handle(.start(nil))
    let body = "<Error><Code>Odd</Code><Message>bad key K3Y4</Message></Error>"
    let error = failure(of: machine.handle(try answer(400, body: body)))
    #expect(error?.message == "the server answered 400 (Odd); the file was not taken")
  }

  @Test(arguments: [
    ("User: i is not authorized to perform: s3:PutObject", true), ("Access Denied.", false),
    ("the secret is K3Y4", false),
  ])
  func `The reason why an access is denied is shown, if it says more`(
    words: String, isShown: Bool
  ) throws {
    var machine = try Script.machine(33 << 20) { $0.headers = [("X-Key", "K3Y4")] }
    _ = machine.handle(.start(nil))
    let body = "<Error><Code>AccessDenied</Code><Message>\(words)</Message></Error>"
    let error = failure(of: machine.handle(try answer(403, body: body)))
    #expect(
      error?.message == "the server answered 403 (AccessDenied); the access key does not allow that"
        + (isShown ? "; it says: \(words)" : ""))
  }

  @Test func `The reason of a gateway before the store is shown`() throws {
    var machine = try Script.machine(33 << 20)
    _ = machine.handle(.start(nil))
    let refused = try answer(
      401, [("Content-Type", "application/json")], body: #"{"message":"no such route"}"#)
    let error = failure(of: machine.handle(refused))
    #expect(error?.code == .unauthorized)
    #expect(error?.fact == "the server answered 401 (it says: no such route)")
  }

  @Test func `An object without a proof is asked for its length`() throws {
    var machine = try Script.machine(5)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Script.digest(1))
    _ = machine.handle(try answer(200, [("ETag", "\"8DD0F5A\"")], sent: 5, part: 1))
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    var denied = machine
    #expect(denied.handle(try answer(403)).last == .finish(.completed))
    let short = failure(of: machine.handle(try answer(200, [("Content-Length", "4")])))
    #expect(short?.code == .checksumMismatch)
  }

  @Test(arguments: [
    "<!DOCTYPE x []><Error><Code>A</Code></Error>", "<Error><Code>A</Error></Code>",
    "<Error><Code>&x;</Code></Error>", "<Error><Code>A</Code></Error>x", "<Error", "&amp;",
    String(repeating: "<a>", count: 100_000), "<Error><Code a='<'>A</Code></Error>",
  ])
  func `A document that is not well-formed, or has a DTD, says nothing`(body: String) throws {
    var machine = try Script.machine(33 << 20)
    _ = machine.handle(.start(nil))
    // Without a reason, the checksums may be it.
    _ = machine.handle(try answer(400, body: body))
    let error = failure(of: machine.handle(try answer(400, body: body)))
    #expect(error?.message == "the server answered 400; the file was not taken")
  }
}
