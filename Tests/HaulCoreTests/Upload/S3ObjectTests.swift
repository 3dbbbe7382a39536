import HaulCore
import Testing

/// The address of an object, and what is printed of an access key.
@Suite struct S3ObjectTests {
  @Test func `At Amazon the bucket is in the host's name, unless no certificate allows that`()
    throws
  {
    let object = try S3Object(bucket: "b-1", key: "a/b.txt", region: "eu-central-1")
    #expect(object.url.absoluteString == "https://b-1.s3.eu-central-1.amazonaws.com/a/b.txt")
    let dotted = try S3Object(bucket: "b.example", key: "k")
    #expect(dotted.url.absoluteString == "https://s3.us-east-1.amazonaws.com/b.example/k")
    let china = try S3Object(bucket: "b-1", key: "k", region: "cn-north-1")
    #expect(china.url.absoluteString == "https://b-1.s3.cn-north-1.amazonaws.com.cn/k")
  }

  @Test(arguments: ["http://127.0.0.1:9000", "http://127.0.0.1:9000/"])
  func `At another endpoint the bucket is in the path`(endpoint: String) throws {
    let object = try S3Object(bucket: "b", key: "k", endpoint: ResourceURL(endpoint))
    #expect(object.url.absoluteString == "http://127.0.0.1:9000/b/k")
  }

  @Test func `Every byte of a key is kept`() throws {
    let object = try S3Object(
      bucket: "b", key: "a b+c!'()*~é/%20//x?y#z/", endpoint: ResourceURL("http://h.example"))
    #expect(
      object.url.absoluteString
        == "http://h.example/b/a%20b%2Bc%21%27%28%29%2A~%C3%A9/%2520//x%3Fy%23z/")
  }

  @Test(arguments: [
    ("", "k"), ("b", ""), ("a/b", "k"), ("..", "k"), ("b?", "k"), ("b", "../k"), ("b", "a/./b"),
    ("b", ".."), ("b", "a\0"), ("b", String(repeating: "k", count: 1025)),
  ])
  func `Names that no bucket or key can have are refused`(bucket: String, key: String) throws {
    let endpoint = try ResourceURL("http://h.example")
    #expect(throws: TransferError.self) {
      try S3Object(bucket: bucket, key: key, endpoint: endpoint)
    }
  }

  @Test(arguments: ["", "eu central", "eu/x", "eu.example.org/", "-x"])
  func `A region that would change the host's name is refused`(region: String) {
    #expect(throws: TransferError.self) { try S3Object(bucket: "b-1", key: "k", region: region) }
  }

  @Test func `The secret of an access key is not printed`() throws {
    let key = S3Credentials(
      accessKeyID: "AKID", secretAccessKey: "hidden/+1", sessionToken: "hidden2")
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped] {
      #expect(text.contains("AKID") && !text.contains("hidden"))
    }
    let object = try S3Object(bucket: "b-1", key: "k")
    let request = UploadRequest("/f", to: object, credentials: key)
    #expect(request.method == .s3)
    #expect(!"\(request.url)".contains("hidden"))
    #expect(request.headers.map(\.name) == ["X-Amz-Security-Token"])
  }
}
