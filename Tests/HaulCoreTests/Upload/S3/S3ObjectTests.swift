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
    let inPath = try S3Object(bucket: "b-1", key: "k", addressing: .path)
    #expect(inPath.url.absoluteString == "https://s3.us-east-1.amazonaws.com/b-1/k")
  }

  @Test(arguments: [
    ("us-gov-west-1", "amazonaws.com"), ("cn-north-1", "amazonaws.com.cn"),
    ("eusc-de-east-1", "amazonaws.eu"), ("us-iso-east-1", "c2s.ic.gov"),
    ("us-isob-east-1", "sc2s.sgov.gov"), ("us-isof-south-1", "csp.hci.ic.gov"),
    ("eu-isoe-west-1", "cloud.adc-e.uk"),
  ])
  func `Each partition of Amazon has its domain`(region: String, domain: String) throws {
    let object = try S3Object(bucket: "b-1", key: "k", region: region)
    #expect(object.url.absoluteString == "https://b-1.s3.\(region).\(domain)/k")
  }

  @Test(arguments: ["http://127.0.0.1:9000", "http://127.0.0.1:9000/"])
  func `At another endpoint the bucket is in the path`(endpoint: String) throws {
    let object = try S3Object(bucket: "b", key: "k", endpoint: ResourceURL(endpoint))
    #expect(object.url.absoluteString == "http://127.0.0.1:9000/b/k")
  }

  @Test(arguments: [
    ("http://h.example:90/s", "b-1", "http://b-1.h.example:90/s/b-1/k"),
    ("https://h.example", "b-1", "https://b-1.h.example/b-1/k"),
    ("https://h.example", "b.1", "https://h.example/b.1/b-1/k"),
    ("https://h.example", "B_1", "https://h.example/B_1/b-1/k"),
    ("http://127.0.0.1:9000", "b-1", "http://127.0.0.1:9000/b-1/b-1/k"),
    ("http://[::1]:9000/", "b-1", "http://[::1]:9000/b-1/b-1/k"),
  ])
  func `The bucket may be asked for in the host's name, where that can have it`(
    endpoint: String, bucket: String, address: String
  ) throws {
    let object = try S3Object(
      bucket: bucket, key: "b-1/k", endpoint: ResourceURL(endpoint), addressing: .virtual)
    #expect(object.url.absoluteString == address)
  }

  @Test(arguments: ["oss-cn-beijing.aliyuncs.com", "cos.ap-guangzhou.myqcloud.com"])
  func `A store that takes the bucket only in the host's name gets it there`(host: String) throws {
    let endpoint = try ResourceURL("https://\(host)")
    let object = try S3Object(bucket: "b-1", key: "k", endpoint: endpoint)
    #expect(object.url.absoluteString == "https://b-1.\(host)/k")
    let inPath = try S3Object(bucket: "b-1", key: "k", endpoint: endpoint, addressing: .path)
    #expect(inPath.url.absoluteString == "https://\(host)/b-1/k")
    let other = try ResourceURL("https://my\(host.replacing(".", with: "-")).example")
    let own = try S3Object(bucket: "b-1", key: "k", endpoint: other)
    #expect(own.url.path == "/b-1/k")
  }

  @Test func `Every byte of a key is kept`() throws {
    let object = try S3Object(
      bucket: "b", key: "a b+c!'()*~é/%20//x?y#z/", endpoint: ResourceURL("http://h.example"))
    #expect(
      object.url.absoluteString
        == "http://h.example/b/a%20b%2Bc%21%27%28%29%2A~%C3%A9/%2520//x%3Fy%23z/")
  }

  @Test(
    arguments: ["k", "a/b.txt", ".k", "a/.k", "a b", "%41", "é", "/k", "a//k", "k/", "x?y#z"],
    ["http://h.example", "http://h.example/below/", "http://h.example:9000/.a"])
  func `Another object of a bucket has the address that its own name gives`(
    key: String, endpoint: String
  ) throws {
    for addressing in [S3Object.Addressing.path, .virtual] {
      let first = try S3Object(
        bucket: "b-1", key: "first", endpoint: ResourceURL(endpoint), addressing: addressing)
      let next = try first.sibling(key)
      #expect(
        try next
          == S3Object(
            bucket: "b-1", key: key, endpoint: ResourceURL(endpoint), addressing: addressing))
      let read = try ResourceURL(next.url.absoluteString)
      #expect(next.url.absoluteString == read.absoluteString)
      #expect((next.url.path, next.url.query) == (read.path, read.query))
      #expect(next.url.origin == read.origin)
    }
    #expect(throws: TransferError.self) {
      try S3Object(bucket: "b-1", key: "k").sibling("a/../\(key)")
    }
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
