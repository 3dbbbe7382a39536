import Foundation
import HaulCore
import HaulKit
import Testing

/// Signatures equal those of botocore, for requests that `Tests/Signatures/make.py` names.
@Suite struct RequestSignerTests {
  struct Vectors: Decodable {
    struct Signed: Decodable {
      let name: String
      let method: String
      let url: String
      let fields: [String: String]
      let payload: String
      let seconds: Double
      let hasToken: Bool
      let authorization: String
    }

    struct Presigned: Decodable {
      let name: String
      let method: String
      let url: String
      let validity: Int64
      let seconds: Double
      let hasToken: Bool
      let signed: String
    }

    let accessKey: String
    let secret: String
    let token: String
    let headers: [Signed]
    let presigned: [Presigned]

    func signer(hasToken: Bool, at seconds: Double) -> RequestSigner {
      RequestSigner(
        S3Credentials(
          accessKeyID: accessKey, secretAccessKey: secret, sessionToken: hasToken ? token : nil),
        region: "eu-central-1", wallSeconds: seconds)
    }
  }

  private static func vectors() throws -> Vectors {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try JSONDecoder().decode(
      Vectors.self, from: Data(contentsOf: tests.appending(path: "Signatures/vectors.json")))
  }

  @Test func `Header fields are signed as by botocore`() throws {
    let vectors = try Self.vectors()
    #expect(vectors.headers.count == 15)
    for vector in vectors.headers {
      let fields = vectors.signer(hasToken: vector.hasToken, at: vector.seconds).sign(
        vector.method, try ResourceURL(vector.url),
        HeaderFields(vector.fields.map { ($0.key, $0.value) }), payload: vector.payload)
      #expect(fields["Authorization"] == vector.authorization, "\(vector.name)")
    }
  }

  @Test func `Addresses are presigned as by botocore`() throws {
    let vectors = try Self.vectors()
    #expect(vectors.presigned.count == 4)
    for vector in vectors.presigned {
      let query = vectors.signer(hasToken: vector.hasToken, at: vector.seconds).presignedQuery(
        vector.method, try ResourceURL(vector.url), seconds: vector.validity)
      let address = "\(vector.url.prefix { $0 != "?" })?\(query)"
      #expect(address == vector.signed, "\(vector.name)")
    }
  }

  @Test func `A presigned address is that of the object, and its signature is not printed`() throws
  {
    let object = try S3Object(bucket: "b-1", key: "a b", region: "eu-central-1")
    let key = S3Credentials(accessKeyID: "id", secretAccessKey: "hidden")
    let url = try object.presignedURL(
      credentials: key, validity: .seconds(60), at: 1_700_000_000)
    #expect(url.path == "/a%20b")
    #expect(!"\(url)".contains(url.absoluteString.suffix(64)))
    #expect(throws: TransferError.self) {
      try object.presignedURL(credentials: key, validity: .seconds(604_801), at: 0)
    }
  }
}
