import HaulCore
import Testing

/// The shown form of an address, and equal resources.
@Suite
struct RedactionTests {
  private func redacted(_ query: String) throws -> String {
    String(try ResourceURL("https://h.example/f?\(query)").redacted.drop { $0 != "?" })
  }

  @Test(arguments: [
    "X-Amz-Signature", "x-amz-date", "X-Goog-Credential", "Signature", "Expires", "Key-Pair-Id",
    "Policy", "sig", "se", "token", "access_token", "key", "api_key", "PASSWORD", "client_secret",
    "my-token", "%74oken", "AWSAccessKeyId", "jwt", "sessionid", "pw", "passcode", "user_pass",
    "auth_hash", "token%CC%81", "passkey", "subscription-key", "user_key", "rss_key",
  ])
  func `Values of known signing and token keys are hidden, in any case or coding of the key`(
    name: String
  ) throws {
    #expect(try redacted("id=1&\(name)=value&x=2") == "?id=1&\(name)=***&x=2")
    #expect(try redacted("id=1;\(name)=value;x=2") == "?id=1;\(name)=***;x=2")
  }

  @Test
  func `Other values are shown, up to 32 bytes, so that addresses can be distinguished`() throws {
    #expect(try redacted("id=1") == "?id=1")
    #expect(try redacted("file=a%20b.iso&v=&flag") == "?file=a%20b.iso&v=&flag")
    let (longest, longer) = (String(repeating: "a", count: 32), String(repeating: "a", count: 33))
    #expect(try redacted("q=\(longest)&download") == "?q=\(longest)&download")
    #expect(try redacted("q=\(longer)&downloads") == "?q=***&***")
    #expect(try redacted("a=b=c") == "?a=b=c")
  }

  @Test func `What looks like a key is hidden, whatever its name`() throws {
    let key = "0123456789abcdef"
    #expect(try redacted("appid=\(key)&u=\(key)\(key)") == "?appid=***&u=***")
    #expect(try redacted("t=aB3dE6gH9jK2mN5pQ8sT") == "?t=***")
    #expect(try redacted("date=20261128&n=123456789012345") == "?date=20261128&n=123456789012345")
    #expect(try redacted("f=ubuntu-26.04-desktop-amd64.iso") == "?f=ubuntu-26.04-desktop-amd64.iso")
  }

  @Test func `Parameters in the path are hidden as those of the query are`() throws {
    let shown = try ResourceURL("https://h/a;jsessionid=0123456789ABCDEF/b;v=2/c;d?id=1").redacted
    #expect(shown == "https://h/a;jsessionid=***/b;v=2/c;d?id=1")
  }

  @Test func `User information is never shown`() throws {
    #expect(try ResourceURL("https://me:pass@h.example/f").redacted == "https://h.example/f")
  }

  @Test(arguments: [
    ("f#a", "f#b"), ("f?X-Amz-Date=1", "f?X-Amz-Date=2"), ("f?id=1&sig=2", "f?id=1&sig=3"),
    ("f?st=1&sig=2", "f?st=2&sig=3"), ("f?Expires=1&Signature=2", "f?Expires=3&Signature=4"),
    ("f?md5=a&expires=1", "f?md5=b&expires=2"), ("f?auth_key=1", "f?auth_key=2"),
  ])
  func `Another signature and another fragment mean the same resource`(one: String, other: String)
    throws
  {
    let (one, other) = (try url(one), try url(other))
    #expect(one.resourceText == other.resourceText)
  }

  @Test(arguments: [
    ("f", "g"), ("f?id=1", "f?id=2"), ("f", "f?"), ("f?st=1", "f?st=2"), ("f?key=1", "f?key=2"),
    ("f?id=1&sig=2", "f?id=3&sig=2"), ("f?versionId=1&sig=2", "f?versionId=2&sig=2"),
    ("f", "f?sig=1"), ("f?a=1&b=2", "f?b=2&a=1"),
  ])
  func `Any other difference means another resource`(one: String, other: String) throws {
    let (one, other) = (try url(one), try url(other))
    #expect(one.resourceText != other.resourceText)
  }

  private func url(_ rest: String) throws -> ResourceURL {
    try ResourceURL("https://h.example/" + rest)
  }

  @Test(arguments: [
    ("http://h/a", "/a"), ("http://h/a?", "/a?"), ("http://h/a?x=1&y=", "/a?x=***&y=***"),
    ("http://h/a?flag;custom=s3cret;b=1&c", "/a?flag;custom=***;b=***&c"),
    ("http://h/a?s3cret-without-a-name", "/a?***"),
    ("http://h/a?x=1;s3cret-without-a-name&y=a=b?c", "/a?x=***;***&y=***"),
    ("http://u:p@H:80/a?x=1", "/a?x=***"),
  ])
  func `For lists of what is kept, no value of a query is shown, whatever separates it`(
    address: String, shown: String
  ) throws {
    let url = try ResourceURL(address)
    #expect(url.withoutQueryValues == "http://h" + shown)
    #expect(ResourceURL.withoutQueryValues(url.withoutQueryValues) == "http://h" + shown)
  }
}
