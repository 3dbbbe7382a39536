import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Downloads of objects of an S3 store, and uploads whose source is one.
@Suite(.timeLimit(.minutes(10))) struct S3DownloadTests {
  private static let key = S3Credentials(
    accessKeyID: "AKID", secretAccessKey: "canary/secret", sessionToken: "token")

  private static func request(
    _ destination: DownloadRequest.Destination
  ) throws -> DownloadRequest {
    let object = try S3Object(
      bucket: "b", key: "dir/f 1+2", region: "eu-central-1",
      endpoint: try ResourceURL("http://h.example"))
    return DownloadRequest(object, credentials: key, to: destination)
  }

  /// Each request has a signature of the key, and not the key.
  private static func check(_ requests: [FetchRequest]) throws {
    #expect(!requests.isEmpty)
    for request in requests {
      let fields = request.headersToSend
      let signature = try #require(fields["Authorization"])
      #expect(signature.hasPrefix("AWS4-HMAC-SHA256 Credential=AKID/"))
      #expect(
        signature.contains(
          "/eu-central-1/s3/aws4_request, "
            + "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=")
      )
      #expect(fields["X-Amz-Security-Token"] == "token")
      #expect(request.url.absoluteString == "http://h.example/b/dir/f%201%2B2")
      #expect(!fields.fields.contains { $0.value.contains("canary") })
    }
  }

  @Test func `Each request for an object is signed, and the key is not sent`() async throws {
    let (source, disk) = (FakeSource(3 << 20, to: FakeS3()), SimulatedDisk())
    disk.makeDirectory("/d")
    let manager = try TransferManager(testing: .init(), transport: source, disk: disk)
    let request = try Self.request(.directory("/d"))
    let result = try await manager.add(TransferRequest(.download(request))).result
    #expect(result.state == .completed && result.path == "/d/f 1+2")
    #expect(disk.contents(of: "/d/f 1+2") == source.content)
    try Self.check(source.snapshot.requests)
    await manager.shutdown()
  }

  @Test func `An object goes to another store, and each gets the signature of its key`()
    async throws
  {
    let (store, disk) = (FakeS3(), SimulatedDisk())
    disk.makeDirectory("/u")
    let source = FakeSource(9 << 20, to: store)
    var configuration = TransferManager.Configuration()
    configuration.uploadDirectory = "/u"
    let manager = try TransferManager(testing: configuration, transport: source, disk: disk)
    let target = try S3Object(
      bucket: "c", key: "k", endpoint: try ResourceURL("http://other.example"))
    let upload = UploadRequest(
      from: try Self.request(.stream), to: target,
      credentials: S3Credentials(accessKeyID: "OTHER", secretAccessKey: "other-canary"))
    let result = try await manager.add(TransferRequest(.upload(upload))).result
    #expect(result.state == .completed)
    #expect(store.snapshot.objects["/c/k"]?.bytes == source.content)
    try Self.check(source.snapshot.requests)
    await manager.shutdown()
  }

  /// A store that takes one session token, and the services that give keys.
  private final class KeyedStore: Transport {
    let source = FakeSource(1000, to: FakeS3())
    let services = FakeKeyServices()
    let token = NIOLockedValueBox("canary-session-1")

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      let isKnown = request.headersToSend["X-Amz-Security-Token"] == token.withLockedValue { $0 }
      if isKnown { return try await source.fetch(request) }
      let head = ResponseHead(status: 403, headers: HeaderFields(), url: request.url)
      return FetchResponse(head: head, bytes: [UInt8]())
    }

    func send(_ message: SendRequest) async throws -> SendResponse {
      try await services.send(message)
    }
  }

  @Test func `A refused download asks for another key of the role, once a minute`() async throws {
    let (store, disk, clock) = (KeyedStore(), SimulatedDisk(), ManualClock(wallStart: 0))
    disk.makeDirectory("/d")
    var configuration = TransferManager.Configuration()
    configuration.keyAccess = S3KeyAccess(
      environment: [
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": FakeKeyServices.container,
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "canary-container",
      ],
      profile: { (_, _, _) throws(TransferError) in .container }, token: { _ in nil })
    let manager = try TransferManager(
      testing: configuration, transport: store, disk: disk, clock: clock)
    func download(_ key: String) async throws -> TransferResult.State {
      let object = try S3Object(
        bucket: "b", key: key, endpoint: try ResourceURL("http://h.example"))
      var request = DownloadRequest(url: object.url, to: .file("/d/\(key)"))
      request.take(object, nil, S3KeySource(.container, region: "us-east-1"))
      return try await manager.add(TransferRequest(.download(request))).result.state
    }
    #expect(try await download("a") == .completed)
    store.token.withLockedValue { $0 = "canary-session-2" }
    clock.adjustWallClock(by: 61)
    #expect(try await download("b") == .completed)
    #expect(store.services.snapshot.given == 2)
    // Forbidden objects.
    store.token.withLockedValue { $0 = "none" }
    for key in ["c", "d"] {
      await #expect(throws: TransferError.self) { try await download(key) }
    }
    #expect(store.services.snapshot.given == 2)
    await manager.shutdown()
  }

  @Test(arguments: [
    (301, "x-amz-bucket-region", "the bucket is in the region ap-south-1"),
    (403, "x-amz-bucket-region", "the bucket is in the region ap-south-1"),
    (403, "Server", "the object is archived"), (400, "Server", "the store refuses the key"),
    (405, "x-amz-delete-marker", "the object was deleted"), (404, "Server", "check the address"),
  ])
  func `A store that refuses says why as far as its head does`(
    status: Int, field: String, words: String
  ) throws {
    var request = FetchRequest(url: try ResourceURL("https://h.example/b/k"), firstByte: 0)
    request.signing = S3Login(.known(Self.key), region: "us-east-1")
    let value = field == "x-amz-delete-marker" ? "true" : "ap-south-1"
    let head = ResponseHead(
      status: status, headers: HeaderFields([(field, value)]), url: request.url)
    guard case .failure(let error) = ResponseJudge(wallSeconds: 0).verdict(on: head, to: request)
    else {
      Issue.record("it is no failure")
      return
    }
    #expect(error.message.contains(words), "\(error.message)")
  }

  private static func words(_ code: String, _ more: String = "") -> [UInt8] {
    Array("<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code>\(more)</Error>".utf8)
  }

  private static func error(
    _ status: Int, _ body: [UInt8], _ key: S3Login.Key = .known(key)
  ) throws -> TransferError {
    var request = FetchRequest(url: try ResourceURL("https://h.example/b/k"), firstByte: 0)
    request.signing = S3Login(key, region: "us-east-1")
    let fields = HeaderFields([("Date", "Thu, 01 Jan 1970 01:00:00 GMT")])
    var head = ResponseHead(status: status, headers: fields, url: request.url)
    head.refusal = body
    guard case .failure(let error) = ResponseJudge(wallSeconds: 0).verdict(on: head, to: request)
    else { throw TransferError(.internal, "it is no failure") }
    return error
  }

  @Test(
    arguments: [
      (
        404, "NoSuchKey", "<Message>The specified key does not exist.</Message>", .notFound,
        "(NoSuchKey); it says: The specified key does not exist."
      ),
      (404, "NoSuchBucket", "", .notFound, "(NoSuchBucket); there is no such bucket"),
      (
        403, "AccessDenied", "<Message>User x; no\u{1B}[2Jthing</Message>", .forbidden,
        "(AccessDenied); the access key does not allow that; it says: User x, no [2Jthing"
      ),
      (403, "InvalidObjectState", "", .forbidden, "the object is archived; restore it first"),
      (403, "InvalidAccessKeyId", "", .unauthorized, "it does not know the access key"),
      (403, "RequestTimeTooSkewed", "", .unauthorized, "this machine's clock is wrong"),
      (
        400, "ExpiredToken", "", .unauthorized,
        "the temporary access key has expired; get a new one"
      ),
      (
        400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>", .redirectRefused,
        "the bucket is in the region eu-west-1; give that"
      ),
      (
        301, "PermanentRedirect", "<Region>eu-west-1</Region>", .redirectRefused,
        "the bucket is in the region eu-west-1; give that"
      ),
      (
        400, "InvalidRequest", "<Message>Use Version 4.</Message>", .httpStatus,
        "says: Use Version 4."
      ),
      (400, "Odd", "", .httpStatus, "the server answered 400 (Odd); the file was not sent"),
    ] as [(Int, String, String, TransferError.Code, String)])
  func `A store that refuses says why in its own words`(
    status: Int, code: String, more: String, reported: TransferError.Code, message: String
  ) throws {
    let error = try Self.error(status, Self.words(code, more))
    #expect(error.code == reported && error.status == status && !error.isRetryable)
    #expect(error.message.contains(message), "\(error.message)")
  }

  @Test func `Words that pass lead to another attempt; what is no document says nothing`() throws {
    #expect(try Self.error(503, Self.words("SlowDown")).isRetryable)
    let source = S3Login.Key.of(S3KeySource(.container, region: "us-east-1"))
    let expired = try Self.error(400, Self.words("ExpiredToken"), source)
    #expect(expired.isRetryable && expired.message.contains("a new one is asked for"))
    for body in [[], Array(Self.words("AccessDenied").dropLast()), Array("<html></html>".utf8)] {
      #expect(try Self.error(403, body).message.contains("the key may not read the object"))
    }
  }

  /// A store that refuses each object.
  private struct RefusingStore: Transport {
    let body: @Sendable () -> FetchResponse.Body

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      FetchResponse(head: ResponseHead(status: 403, url: request.url), body: body())
    }

    func send(_ message: SendRequest) async throws -> SendResponse {
      throw TransferError(.internal, "nothing is sent")
    }
  }

  private static func refusal(
    _ body: @escaping @Sendable () -> FetchResponse.Body
  ) async throws -> String {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    let manager = try TransferManager(
      testing: .init(), transport: RefusingStore(body: body), disk: disk)
    var request = try Self.request(.directory("/d"))
    request.headers.append("X-Customer-Key", "customer-canary")
    let transfer = try await manager.add(TransferRequest(.download(request)))
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    return try #require(error).message
  }

  @Test func `The words of a refusal are read, but not without end, and without secrets`()
    async throws
  {
    let text = "<Message>no canary/secret, no customer-canary, no such right</Message>"
    let chunks = [Self.words("AccessDenied", text)]
    let shown = try await Self.refusal { CollectedBody(chunks: chunks) }
    #expect(shown.contains("(AccessDenied)") && shown.contains("no such right"), "\(shown)")
    #expect(!shown.contains("canary"))

    let lost = try await Self.refusal {
      AsyncThrowingStream<any ByteChunk, any Error> { continuation in
        continuation.yield(chunks[0])
        continuation.finish(throwing: TransferError(.connectionLost, "lost"))
      }
    }
    #expect(lost.contains("no such right"), "\(lost)")

    let endless = try await Self.refusal {
      AsyncThrowingStream<any ByteChunk, any Error> { [UInt8](repeating: 0x20, count: 1000) }
    }
    #expect(endless.contains("the key may not read the object"), "\(endless)")
  }

  @Test func `A redirect to another server gets no signature, one to the same server does`()
    throws
  {
    var request = FetchRequest(url: try ResourceURL("https://h.example/b/k"))
    request.signing = S3Login(.known(Self.key), region: "us-east-1")
    request.trustedHosts = ["t.example"]
    let same = request.redirected(to: try ResourceURL("https://h.example/b/l"))
    #expect(same.signing != nil)
    for target in ["https://other.example/b/k", "https://t.example/b/k", "http://h.example/b/k"] {
      #expect(request.redirected(to: try ResourceURL(target)).signing == nil, "\(target)")
    }
    let away = request.redirected(to: try ResourceURL("https://other.example/"))
    #expect(away.redirected(to: request.url).signing == nil)
  }
}
