import HaulCore
import HaulKit
import NIOConcurrencyHelpers

/// Services that give keys, and an S3 store, as one transport. The services are strict: the
/// metadata service knows only its version 2, and the container's wants its token.
final class FakeKeyServices: Transport {
  struct Request: Sendable {
    let method: String
    let url: String
    let headers: HeaderFields
    let body: String
    let isDirect: Bool
    /// Whether no client certificate is shown.
    let isAnonymous: Bool
  }

  enum Fault: Sendable {
    case answer(Int, String)
    /// The answer comes only when the request is cancelled.
    case held
  }

  struct State: Sendable {
    var requests: [Request] = []
    /// How often keys were given.
    var given = 0
  }

  static let metadata = "http://169.254.169.254/"
  static let container = "http://127.0.0.1:81/keys?id=1"
  static let tokenService = "https://sts.eu-west-1.amazonaws.com/"

  let store: FakeS3
  private let state = NIOLockedValueBox(State())
  private let expiry: @Sendable () -> String
  private let fault: @Sendable (Request, _ number: Int) -> Fault?

  /// - Parameter expiry: of the next keys.
  init(
    _ store: FakeS3 = FakeS3(),
    _ fault: @escaping @Sendable (Request, _ number: Int) -> Fault? = { _, _ in nil },
    expiry: @escaping @Sendable () -> String = { "2999-01-01T00:00:00Z" }
  ) {
    (self.store, self.fault, self.expiry) = (store, fault, expiry)
  }

  var snapshot: State { state.withLockedValue { $0 } }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    try await store.fetch(request)
  }

  func send(_ message: SendRequest) async throws -> SendResponse {
    guard !message.url.origin.host.hasPrefix("h.") else { return try await store.send(message) }
    var body: [UInt8] = []
    if let content = message.body {
      for try await chunk in content { chunk.withBytes { body += $0 } }
    }
    let request = Request(
      method: message.method, url: message.url.absoluteString, headers: message.headersToSend,
      body: String(decoding: body, as: UTF8.self), isDirect: message.isDirect,
      isAnonymous: message.isOfClient)
    let number = state.withLockedValue { state in
      state.requests.append(request)
      return state.requests.count
    }
    let (status, text): (Int, String)
    switch fault(request, number) {
    case .answer(let given, let body): (status, text) = (given, body)
    case .held:
      for await _ in AsyncStream<Never>.makeStream().stream {}
      throw CancellationError()
    case nil: (status, text) = answer(to: request)
    }
    return SendResponse(
      head: ResponseHead(status: status, headers: HeaderFields(), url: message.url),
      body: Array(text.utf8))
  }

  private func answer(to request: Request) -> (Int, String) {
    let roles = Self.metadata + "latest/meta-data/iam/security-credentials/"
    let isTokenRight = request.headers["X-aws-ec2-metadata-token"] == "canary-metadata"
    switch (request.method, request.url) {
    case ("PUT", Self.metadata + "latest/api/token"):
      let lifetime = request.headers["X-aws-ec2-metadata-token-ttl-seconds"]
      return lifetime == "21600" ? (200, "canary-metadata") : (400, "")
    case ("GET", roles): return isTokenRight ? (200, "my-role\n") : (401, "")
    case ("GET", roles + "my-role"): return isTokenRight ? (200, json()) : (401, "")
    case ("GET", Self.container):
      return request.headers["Authorization"] == "canary-container" ? (200, json()) : (401, "")
    case ("POST", Self.tokenService): return (200, xml())
    default: return (404, "")
    }
  }

  /// The number of the next keys: the first is `key-1`.
  private func next() -> Int {
    state.withLockedValue { state in
      state.given += 1
      return state.given
    }
  }

  func json() -> String {
    let number = next()
    return """
      {"Code":"Success","AccessKeyId":"key-\(number)","SecretAccessKey":"canary-secret-\(number)",
      "Token":"canary-session-\(number)","Expiration":"\(expiry())"}
      """
  }

  private func xml() -> String {
    let number = next()
    return """
      <AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>key-\(number)</AccessKeyId>
      <SecretAccessKey>canary-secret-\(number)</SecretAccessKey>
      <SessionToken>canary-session-\(number)</SessionToken><Expiration>\(expiry())</Expiration>
      </Credentials></AssumeRoleResult></AssumeRoleResponse>
      """
  }
}
