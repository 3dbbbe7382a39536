import HaulCore
import Testing

/// The files that a source of keys names, for a process in another directory.
@Suite struct S3KeyPathTests {
  private static func request(_ place: S3KeySource.Place) throws -> TransferRequest {
    let object = try S3Object(bucket: "b", key: "k")
    var upload = UploadRequest("/d/f", to: object, credentials: nil)
    upload.keySource = S3KeySource(place, region: "r")
    return TransferRequest(.upload(upload))
  }

  @Test(
    arguments: [
      (
        .webIdentity(role: "r", session: nil, tokenFile: "t"),
        .webIdentity(role: "r", session: nil, tokenFile: "/w/t")
      ),
      (
        .profile(name: "p", configuration: "c", credentials: "/h/x"),
        .profile(name: "p", configuration: "/w/c", credentials: "/h/x")
      ),
    ] as [(S3KeySource.Place, S3KeySource.Place)])
  func `They become absolute`(place: S3KeySource.Place, absolute: S3KeySource.Place) throws {
    let request = try Self.request(place)
    #expect(request.hasRelativePath)
    let found = request.absolute(in: "/w")
    #expect(found.upload?.keySource?.place == absolute)
    #expect(!found.hasRelativePath)
  }

  @Test func `A service has none`() throws {
    #expect(try Self.request(.container).hasRelativePath == false)
  }
}
