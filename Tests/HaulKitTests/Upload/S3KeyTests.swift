import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Uploads with the keys of a role, judged by what the services and the store were sent.
@Suite(.timeLimit(.minutes(10))) struct S3KeyTests {
  private static let instance = S3KeySource.Place.instance(
    address: (try? ResourceURL(FakeKeyServices.metadata)) ?? .unknown)
  private static let webIdentity = S3KeySource.Place.webIdentity(
    role: "arn:r", session: "s", tokenFile: "/token")
  private static let profile = S3KeySource.Place.profile(
    name: "p", configuration: "/c", credentials: nil)

  private static func request(
    _ place: S3KeySource.Place, at endpoint: String = "https://h.example",
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> TransferRequest {
    let object = try S3Object(bucket: "b", key: "k", endpoint: try ResourceURL(endpoint))
    var upload = UploadRequest("/d/f", to: object, credentials: nil)
    upload.keySource = S3KeySource(place, region: "eu-west-1")
    change(&upload)
    return TransferRequest(.upload(upload))
  }

  private static func manager(
    _ services: FakeKeyServices, length: Int = 5, question: S3KeyQuestion = .container,
    clock: ManualClock? = nil
  ) throws -> TransferManager {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.put(SeededContent(seed: 9).bytes(at: 0, count: length), at: "/d/f")
    var configuration = TransferManager.Configuration()
    configuration.keyAccess = S3KeyAccess(
      environment: [
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": FakeKeyServices.container,
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/container",
      ],
      profile: { (name, configuration, credentials) throws(TransferError) in
        guard [name, configuration, credentials] == ["p", "/c", nil] else {
          throw TransferError(.io, "another profile")
        }
        return question
      },
      token: { path in
        ["/token": "canary-identity\n", "/container": "canary-container\n"][path]
      })
    return try TransferManager(
      testing: configuration, transport: services, disk: disk, clock: clock)
  }

  /// Runs one upload that is completed.
  private func upload(
    _ place: S3KeySource.Place, _ services: FakeKeyServices, length: Int = 5,
    question: S3KeyQuestion = .container, clock: ManualClock? = nil
  ) async throws {
    let manager = try Self.manager(services, length: length, question: question, clock: clock)
    let result = try await manager.add(try Self.request(place)).result
    await manager.shutdown()
    #expect(result.state == .completed)
  }

  /// Runs one upload that fails without a secret in its error.
  private func failure(
    _ place: S3KeySource.Place, _ services: FakeKeyServices,
    question: S3KeyQuestion = .container, _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> TransferError {
    let manager = try Self.manager(services, question: question)
    let transfer = try await manager.add(try Self.request(place, change))
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(error?.message.contains("canary") == false)
    return try #require(error)
  }

  /// The ids of the keys that signed what the store got, in order.
  private static func signers(_ services: FakeKeyServices) -> [String] {
    services.store.snapshot.requests.map { request in
      let field = request.headers["Authorization"] ?? ""
      return String(field.split(separator: "=").dropFirst().first?.prefix { $0 != "/" } ?? "")
    }
  }

  @Test(arguments: [instance, .container, webIdentity, profile])
  func `The store's requests are signed with the role's key`(place: S3KeySource.Place) async throws
  {
    let services = FakeKeyServices()
    try await upload(place, services)
    #expect(Self.signers(services).allSatisfy { $0 == "key-1" })
    let sent = services.store.snapshot.requests
    #expect(!sent.isEmpty)
    #expect(sent.allSatisfy { $0.headers["X-Amz-Security-Token"] == "canary-session-1" })
    #expect(services.snapshot.requests.allSatisfy { $0.isAnonymous })
  }

  @Test func `Services of the machine are asked without a proxy, the token service is not`()
    async throws
  {
    for (place, isDirect) in [
      (Self.instance, true), (.container, true), (Self.webIdentity, false),
    ] {
      let services = FakeKeyServices()
      try await upload(place, services)
      #expect(services.snapshot.requests.allSatisfy { $0.isDirect == isDirect })
      #expect(!services.snapshot.requests.isEmpty)
    }
  }

  @Test func `A web identity is proved with the token in the file`() async throws {
    let services = FakeKeyServices()
    try await upload(Self.webIdentity, services)
    let call = try #require(services.snapshot.requests.first)
    #expect(call.body.contains("RoleArn=arn%3Ar&RoleSessionName=s"))
    #expect(call.body.hasSuffix("WebIdentityToken=canary-identity"))
    #expect(call.headers["Authorization"] == nil)
  }

  @Test func `A role is taken with the key of another source`() async throws {
    let services = FakeKeyServices()
    let key = S3Credentials(accessKeyID: "own", secretAccessKey: "canary-own")
    try await upload(Self.profile, services, question: .role(S3Role("r"), with: .known(key)))
    let call = try #require(services.snapshot.requests.first)
    #expect(call.headers["Authorization"]?.contains("Credential=own/") == true)
    #expect(call.headers["Authorization"]?.contains("/eu-west-1/sts/aws4_request") == true)
    let chained = FakeKeyServices()
    try await upload(Self.profile, chained, question: .role(S3Role("r"), with: .container))
    #expect(
      chained.snapshot.requests.last?.headers["X-Amz-Security-Token"] == "canary-session-1")
    #expect(Self.signers(chained).first == "key-2")
  }

  @Test func `A metadata service without version 2 is not asked by version 1`() async throws {
    let services = FakeKeyServices { request, _ in
      request.method == "PUT" ? .answer(404, "canary") : nil
    }
    let error = try await failure(Self.instance, services)
    #expect(error.code == .unauthorized)
    #expect(error.message.contains("the metadata service of this machine: it answered 404"))
    #expect(services.snapshot.requests.map(\.method) == ["PUT"])
    #expect(services.store.snapshot.requests.isEmpty)
  }

  @Test func `A metadata service that does not answer is asked twice, for a second`()
    async throws
  {
    let clock = ManualClock()
    let services = FakeKeyServices { _, _ in .held }
    let manager = try Self.manager(services, clock: clock)
    let transfer = try await manager.add(try Self.request(Self.instance))
    for number in 1...2 {
      try await until { services.snapshot.requests.count == number }
      clock.advance(by: .milliseconds(999))
      #expect(services.snapshot.requests.count == number)
      clock.advance(by: .milliseconds(1))
    }
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(error?.message.contains("did not answer within 1.0 seconds") == true)
    #expect(error?.message.contains("AWS_ACCESS_KEY_ID") == true)
    #expect(services.snapshot.requests.count == 2)
  }

  @Test func `A service that has failed once is asked again`() async throws {
    let services = FakeKeyServices { _, number in number == 1 ? .answer(503, "") : nil }
    try await upload(.container, services)
    #expect(services.snapshot.requests.count == 2)
  }

  @Test func `A redirect of a service is not followed`() async throws {
    let services = FakeKeyServices { _, _ in .answer(302, "") }
    let error = try await failure(.container, services)
    #expect(error.message.contains("the container's service: it answered 302"))
    #expect(services.snapshot.requests.count == 1)
  }

  @Test func `The token service's reason is shown, and no token`() async throws {
    let services = FakeKeyServices { _, _ in
      .answer(
        403,
        "<ErrorResponse><Error><Code>AccessDenied</Code><Message>canary</Message></Error>"
          + "</ErrorResponse>")
    }
    let error = try await failure(Self.webIdentity, services)
    #expect(error.message.contains("it answered 403 (AccessDenied)"))
  }

  @Test func `A program says the key, and its words are shown to nobody`() async throws {
    let services = FakeKeyServices()
    let answer = #"{"Version":1,"AccessKeyId":"key-p","SecretAccessKey":"canary-program"}"#
    try await upload(Self.profile, services, question: .program(["echo", answer]))
    #expect(Self.signers(services).allSatisfy { $0 == "key-p" })
    for script in ["echo canary; echo canary >&2; exit 1", "echo canary >&2; echo '{canary'"] {
      let error = try await failure(
        Self.profile, services, question: .program(["sh", "-c", script]))
      #expect(error.message.contains("no access key from the profile p: "))
    }
    let missing = try await failure(Self.profile, services, question: .program(["/no/such/x"]))
    #expect(missing.message.contains("cannot run x"))
  }

  /// ISO 8601.
  private static func text(_ seconds: Double) -> String {
    let hour = Int(seconds) / 3600
    return "1970-01-01T\(hour < 10 ? "0" : "")\(hour):00:00Z"
  }

  @Test func `An upload that lasts longer than its keys continues with new ones`() async throws {
    let clock = ManualClock(wallStart: 0)
    let store = FakeS3 { request, _ in
      // A minute is left when the first part is sent.
      if request.part == 1 { clock.adjustWallClock(by: 3_545) }
      return nil
    }
    let services = FakeKeyServices(
      store, expiry: { clock.wallSeconds < 3000 ? Self.text(3600) : Self.text(36_000) })
    try await upload(.container, services, length: 80 << 20, clock: clock)
    let signers = Self.signers(services)
    #expect(signers.first == "key-1" && signers.last == "key-2")
    #expect(services.snapshot.given == 2)
    #expect(store.snapshot.objects["/b/k"]?.bytes.count == 80 << 20)
  }

  @Test func `A key that the store calls expired is replaced, and the request made again`()
    async throws
  {
    let store = FakeS3 { request, _ in
      request.headers["X-Amz-Security-Token"] == "canary-session-1"
        ? .answer(400, FakeS3.error("ExpiredToken")) : nil
    }
    let services = FakeKeyServices(store)
    try await upload(.container, services)
    #expect(Self.signers(services).first == "key-1" && Self.signers(services).last == "key-2")
  }

  @Test(arguments: ["InvalidAccessKeyId", "InvalidToken"])
  func `A key that the store does not know is not that of the next transfer`(
    code: String
  ) async throws {
    let store = FakeS3 { request, _ in
      request.headers["X-Amz-Security-Token"] == "canary-session-1"
        ? .answer(403, FakeS3.error(code)) : nil
    }
    let services = FakeKeyServices(store)
    let manager = try Self.manager(services)
    let first = try await manager.add(try Self.request(.container))
    let error = await #expect(throws: TransferError.self) { try await first.result }
    #expect(error?.message.contains(code) == true)
    let second = try await manager.add(try Self.request(.container, at: "https://h.a"))
    #expect(try await second.result.state == .completed)
    await manager.shutdown()
    #expect(Self.signers(services).last == "key-2")
  }

  @Test func `A store that repeats the token does not get it shown`() async throws {
    let words = "<Message>not canary-session-1</Message>"
    let store = FakeS3 { _, _ in .answer(400, "<Error><Code>Odd</Code>\(words)</Error>") }
    let error = try await failure(.container, FakeKeyServices(store))
    #expect(error.message.contains("Odd"))
  }

  @Test func `What a client over TCP adds gets no key of its owner`() async throws {
    let services = FakeKeyServices()
    let error = try await failure(.container, services) { $0.roots = ["/d"] }
    #expect(error.code == .forbidden)
    #expect(services.snapshot.requests.isEmpty)
  }

  @Test func `All transfers share the keys`() async throws {
    let services = FakeKeyServices()
    let manager = try Self.manager(services)
    let requests = try ["h.a", "h.b", "h.c", "h.d"].map {
      try Self.request(.container, at: "https://\($0)")
    }
    for transfer in try await manager.add(requests) {
      #expect(try await transfer.result.state == .completed)
    }
    await manager.shutdown()
    #expect(services.snapshot.given == 1)
  }

  @Test func `A manager that knows no environment says so`() async throws {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.put([1], at: "/d/f")
    let manager = try TransferManager(
      testing: .init(), transport: FakeKeyServices(), disk: disk)
    let transfer = try await manager.add(try Self.request(.container))
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(error?.code == .notYetSupported)
  }
}
