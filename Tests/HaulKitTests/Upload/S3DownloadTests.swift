import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Downloads of objects of an S3 store, and uploads whose source is one.
@Suite(.timeLimit(.minutes(1))) struct S3DownloadTests {
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
