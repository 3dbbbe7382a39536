import HaulCore
import Testing

/// Pages of the list of a bucket's objects.
@Suite struct S3ListPageTests {
  private func page(
    _ content: String, after token: String? = nil
  ) throws(TransferError) -> S3ListPage {
    let text = "<?xml version=\"1.0\"?><ListBucketResult>\(content)</ListBucketResult>"
    return try S3ListPage(Array(text.utf8), below: "p/", after: token)
  }

  private func objects(_ keys: String...) -> String {
    keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
  }

  @Test func `Keys are decoded as forms, if the store says that they are encoded`() throws {
    let keys = objects("p/a+b", "p/a%2Bb", "p/100%25", "p/%FF", "q/x", "p/&lt;")
    #expect(
      try page("<EncodingType>url</EncodingType>\(keys)").keys
        == ["p/a b", "p/a+b", "p/100%", nil, nil, "p/<"])
    #expect(
      try page(keys).keys == ["p/a+b", "p/a%2Bb", "p/100%25", "p/%FF", nil, "p/<"])
    #expect(try page("").keys.isEmpty)
  }

  @Test func `The next page is asked for by the store's token, as it is`() throws {
    let more = "<IsTruncated>true</IsTruncated>"
    let next = try page("\(more)<NextContinuationToken>a+/=&amp;</NextContinuationToken>").next
    #expect(next == "a+/=&")
    #expect(
      S3ListPage.query(below: "p/ü", after: next)
        == "list-type=2&encoding-type=url&max-keys=1000&prefix=p%2F%C3%BC"
        + "&continuation-token=a%2B%2F%3D%26")
    #expect(try page("<NextContinuationToken>x</NextContinuationToken>").next == nil)
    // A part of a list is never taken for the whole.
    #expect(throws: TransferError.self) { try page(more) }
    #expect(throws: TransferError.self) {
      try page("\(more)<NextContinuationToken>x</NextContinuationToken>", after: "x")
    }
  }

  @Test(arguments: [
    "", "<html></html>", "<Error><Code>x</Code></Error>",
    "<ListBucketResult><Contents><Key>p/a&b</Key></Contents></ListBucketResult>",
    "<ListBucketResult><Contents><Key>p/a</Key></Contents>",
  ])
  func `What is no list, or half of one, is an error`(text: String) {
    let error = #expect(throws: TransferError.self) {
      try S3ListPage(Array(text.utf8), below: "p/")
    }
    #expect(error?.code == .protocolViolation)
    let isDocument = text.hasSuffix("</html>") || text.hasSuffix("</Error>")
    #expect(error?.isRetryable == !isDocument)
  }

  @Test(
    arguments: [
      (nil, S3Object.Addressing.auto, "https://b-1.s3.eu-west-1.amazonaws.com/?q"),
      ("http://s:9/base", .auto, "http://s:9/base/b-1/?q"),
      ("http://s:9", .virtual, "http://b-1.s:9/?q"),
    ] as [(String?, S3Object.Addressing, String)])
  func `The address of the list is that of the bucket`(
    endpoint: String?, addressing: S3Object.Addressing, address: String
  ) throws {
    let list = try S3Object(
      listOf: "b-1", "q", region: "eu-west-1", endpoint: try endpoint.map { try ResourceURL($0) },
      addressing: addressing)
    #expect(list.url.absoluteString == address)
  }
}
