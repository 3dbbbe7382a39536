import HaulCore
import Testing

/// The calls of the token service.
@Suite struct TokenServiceCallTests {
  private static func source(
    _ region: String = "eu-west-1", at address: String? = nil
  ) throws -> S3KeySource {
    S3KeySource(.container, region: region, tokenService: try address.map { try ResourceURL($0) })
  }

  @Test(arguments: [
    ("eu-west-1", "https://sts.eu-west-1.amazonaws.com/"),
    ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/"),
  ])
  func `The service is that of the region`(region: String, address: String) throws {
    let call = try TokenServiceCall(S3Role("r"), at: try Self.source(region), token: "t")
    #expect(call.url.absoluteString == address)
    let own = try TokenServiceCall(
      S3Role("r"), at: try Self.source(at: "http://127.0.0.1:9/"), token: nil)
    #expect(own.url.absoluteString == "http://127.0.0.1:9/")
  }

  @Test func `A web identity is sent with its token, another key takes a role without`() throws {
    let identity = try TokenServiceCall(
      S3Role("arn:aws:iam::1:role/x"), at: try Self.source(), token: "a.b/+")
    #expect(
      String(decoding: identity.body, as: UTF8.self)
        == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1"
        + "%3Arole%2Fx&RoleSessionName=haul&WebIdentityToken=a.b%2F%2B")
    let role = S3Role("r", session: "s@x", externalID: "e&", seconds: 900)
    let other = try TokenServiceCall(role, at: try Self.source(), token: nil)
    #expect(
      String(decoding: other.body, as: UTF8.self)
        == "Action=AssumeRole&Version=2011-06-15&RoleArn=r&RoleSessionName=s%40x&ExternalId=e%26"
        + "&DurationSeconds=900")
  }
}
