import HaulCore
import Testing

/// What the answers of services and programs mean that give keys.
@Suite struct S3KeysTests {
  private static let expiry = #""Expiration":"2026-11-29T20:00:00Z""#
  private static let known = S3Keys(
    S3Credentials(accessKeyID: "i", secretAccessKey: "s/+", sessionToken: "t="),
    expiry: 1_795_982_400)

  @Test func `A container's service and a metadata service answer with JSON`() throws {
    let keys = #""AccessKeyId":"i","SecretAccessKey":"s/+","Token":"t=",\#(Self.expiry)"#
    #expect(try S3Keys(json: Array("{\(keys)}".utf8)) == Self.known)
    #expect(try S3Keys(json: Array(#"{"Code":"Success",\#(keys),"X":[1]}"#.utf8)) == Self.known)
  }

  @Test func `A program answers with a version, and need not have a token or an end`() throws {
    let keys = #""Version":1,"AccessKeyId":"i","SecretAccessKey":"s/+""#
    let temporary = #"{\#(keys),"SessionToken":"t=",\#(Self.expiry)}"#
    #expect(try S3Keys(output: Array(temporary.utf8)) == Self.known)
    let lasting = try S3Keys(output: Array("{\(keys)}\n".utf8))
    #expect(lasting.expiry == nil && lasting.credentials.sessionToken == nil)
  }

  @Test(arguments: ["AssumeRole", "AssumeRoleWithWebIdentity"])
  func `The token service answers with XML`(call: String) throws {
    let answer = """
      <\(call)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <\(call)Result><Audience>a</Audience><Credentials>
          <AccessKeyId>i</AccessKeyId><SecretAccessKey>s/+</SecretAccessKey>
          <SessionToken>t=</SessionToken><Expiration>2026-11-29T20:00:00Z</Expiration>
        </Credentials></\(call)Result>
        <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>
      </\(call)Response>
      """
    #expect(try S3Keys(xml: Array(answer.utf8)) == Self.known)
  }

  @Test func `A refusal of the token service is shown if it is a word`() {
    func code(_ text: String) -> String? {
      let error = "<Error><Type>Sender</Type><Code>\(text)</Code></Error>"
      return S3Keys.refusal(xml: Array("<ErrorResponse>\(error)</ErrorResponse>".utf8))
    }
    #expect(code("ExpiredTokenException") == "ExpiredTokenException")
    #expect(code("eyJhbGciOi.J9") == nil)
    #expect(S3Keys.refusal(xml: Array("<html>".utf8)) == nil)
  }

  @Test(arguments: [
    "", "{}", "[1]", #"{"AccessKeyId":"canary","SecretAccessKey":"canary"}"#,
    #"{"AccessKeyId":"canary","SecretAccessKey":"can ary","Token":"canary"}"#,
    #"{"AccessKeyId":"","SecretAccessKey":"canary","Token":"canary"}"#,
    #"{"AccessKeyId":"canary","SecretAccessKey":"canary","Token":"canary","Expiration":"canary"}"#,
    #"{"AccessKeyId":["canary"],"SecretAccessKey":"canary","Token":"canary"}"#,
    #"{"Code":"canary-1","AccessKeyId":"canary","SecretAccessKey":"canary","Token":"canary"}"#,
  ])
  func `Another answer is an error, which repeats nothing of it`(answer: String) throws {
    let error = #expect(throws: TransferError.self) { try S3Keys(json: Array(answer.utf8)) }
    #expect(error?.code == .unauthorized)
    #expect(try #require(error).message.contains("canary") == false)
  }

  @Test func `The code of a refusal is named`() {
    let error = #expect(throws: TransferError.self) {
      try S3Keys(json: Array(#"{"Code":"AssumeRoleUnauthorizedAccess"}"#.utf8))
    }
    #expect(error?.message == "it refuses (AssumeRoleUnauthorizedAccess)")
  }

  @Test func `Another version of a program's answer is not read`() {
    let answer = #"{"Version":2,"AccessKeyId":"i","SecretAccessKey":"s"}"#
    let error = #expect(throws: TransferError.self) { try S3Keys(output: Array(answer.utf8)) }
    #expect(error?.message.contains("version 1") == true)
  }

  @Test(arguments: [
    ("2026-11-29T20:00:00Z", 1_795_982_400), ("2026-11-29T20:00:00.123Z", 1_795_982_400),
    ("2026-11-29T22:00:00+02:00", 1_795_982_400), ("2026-11-29T18:30:00-0130", 1_795_982_400),
    ("2026-11-29 20:00:00+00:00", 1_795_982_400), ("1970-01-01T00:00:01Z", 1),
    ("2026-11-29T20:00:00", nil), ("2026-13-29T20:00:00Z", nil), ("2026-11-29", nil),
    ("2026-11-29T20:00:00+2", nil), ("next week", nil), ("", nil),
  ])
  func `Times have a zone, and perhaps a fraction`(text: String, seconds: Double?) {
    let answer =
      #"{"AccessKeyId":"i","SecretAccessKey":"s","Token":"t","Expiration":"\#(text)"}"#
    #expect((try? S3Keys(json: Array(answer.utf8)))?.expiry == seconds)
  }
}
