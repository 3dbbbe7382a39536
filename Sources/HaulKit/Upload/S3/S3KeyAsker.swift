import HaulCore

/// Asks for the keys of a role: a service, the token service, or a program. No error has a secret.
struct S3KeyAsker: Sendable {
  let transport: any Transport
  let programs: (any Programs)?
  let io: BlockingIO
  let clock: any TransferClock
  /// Nil in a program that has not said where keys are.
  let access: S3KeyAccess?

  /// - Throws: `TransferError` that names the source; `CancellationError`.
  func keys(of source: S3KeySource) async throws -> S3Keys {
    do {
      return try await answer(to: try await question(of: source), source)
    } catch let error as TransferError {
      throw error.prefixed("no access key from \(source.name): ")
    }
  }

  private func question(of source: S3KeySource) async throws(TransferError) -> S3KeyQuestion {
    switch source.place {
    case .webIdentity(let role, let session, let file):
      return .webIdentity(S3Role(role, session: session), tokenFile: file)
    case .profile(let name, let configuration, let credentials):
      let access = try known()
      return try await io.run { () throws(TransferError) in
        try access.profile(name, configuration, credentials)
      }
    case .container: return .container
    case .instance(let address): return .instance(address)
    }
  }

  private func known() throws(TransferError) -> S3KeyAccess {
    guard let access else {
      throw TransferError(.notYetSupported, "this program does not ask for keys of roles")
    }
    return access
  }

  private func answer(to question: S3KeyQuestion, _ source: S3KeySource) async throws -> S3Keys {
    switch question {
    case .known(let credentials): return S3Keys(credentials, expiry: nil)
    case .webIdentity(let role, let file):
      return try await call(
        try TokenServiceCall(role, at: source, token: try await token(in: file)), source)
    case .role(let role, let other):
      let keys = try await answer(to: other, source)
      return try await call(
        try TokenServiceCall(role, at: source, token: nil), source, by: keys.credentials)
    case .program(let words): return try await run(words)
    case .container: return try await askContainer()
    case .instance(let address): return try await askInstance(at: address)
    }
  }

  private func token(in path: String) async throws(TransferError) -> String {
    let access = try known()
    let text = try await io.run { () throws(TransferError) in try access.token(path) }
    guard let token = text.map({ String($0.trimmingBytes(" \t\r\n")) }), !token.isEmpty,
      HeaderFields.isValue(token)
    else { throw TransferError(.unauthorized, "there is no token in \(path)") }
    return token
  }

  // MARK: The token service

  private static let tokenServiceLimit: Duration = .seconds(20)

  /// - Parameter credentials: sign the call; nil for a web identity.
  private func call(
    _ call: TokenServiceCall, _ source: S3KeySource, by credentials: S3Credentials? = nil
  ) async throws -> S3Keys {
    var fields = HeaderFields([("Content-Type", TokenServiceCall.mediaType)])
    if let credentials {
      let signer = RequestSigner(
        credentials, region: source.region, service: "sts", wallSeconds: clock.wallSeconds)
      fields = signer.sign("POST", call.url, fields, payload: RequestSigner.hash(call.body))
    }
    let request = SendRequest(
      "POST", call.url, headers: fields, body: Bytes(call.body), length: Int64(call.body.count))
    let answer = try await send(request, attempts: 2, within: Self.tokenServiceLimit)
    guard answer.head.status == 200 else { throw refusal(answer, S3Keys.refusal(xml: answer.body)) }
    return try S3Keys(xml: answer.body)
  }

  private func refusal(_ answer: SendResponse, _ code: String? = nil) -> TransferError {
    let status = answer.head.status
    return TransferError(
      .unauthorized, "it answered \(status)\(code.map { " (\($0))" } ?? "")",
      isRetryable: status == 429 || status >= 500 || code == "IDPCommunicationError")
  }

  // MARK: Services of the machine

  private static let containerLimit: Duration = .seconds(2)
  private static let instanceLimit: Duration = .seconds(1)

  private func askContainer() async throws -> S3Keys {
    let environment = try known().environment
    guard let address = try S3KeyAddress.container(environment) else {
      throw TransferError(
        .unauthorized, "the environment does not name it",
        advice: "start haul serve where it does")
    }
    var fields = HeaderFields([("Accept", "application/json")])
    if let file = environment[S3KeyAddress.tokenFile], !file.isEmpty {
      fields.append("Authorization", try await token(in: file))
    } else if let token = environment[S3KeyAddress.token], !token.isEmpty {
      fields.append("Authorization", try usable(token))
    }
    let answer = try await askLocal("GET", address, fields, within: Self.containerLimit)
    return try S3Keys(json: answer.body)
  }

  /// - Throws: for what is no value of a field.
  private func usable(_ token: String) throws(TransferError) -> String {
    guard HeaderFields.isValue(token) else {
      throw TransferError(.unauthorized, "its token has a special byte")
    }
    return token
  }

  /// Uses version 2 only: version 1 also answers a server that was tricked into asking.
  private func askInstance(at address: ResourceURL) async throws -> S3Keys {
    let path = address.path.hasByteSuffix("/") ? address.path : "\(address.path)/"
    func url(_ rest: String) throws(TransferError) -> ResourceURL {
      let origin = address.origin
      return try ResourceURL("\(origin.scheme)://\(origin.authority)\(path)latest/\(rest)")
    }
    let limit = Self.instanceLimit
    let lifetime = HeaderFields([("X-aws-ec2-metadata-token-ttl-seconds", "21600")])
    let token = try await askLocal("PUT", try url("api/token"), lifetime, within: limit)
    let fields = HeaderFields([("X-aws-ec2-metadata-token", try usable(token.text))])
    let roles = "meta-data/iam/security-credentials/"
    let role = try await askLocal("GET", try url(roles), fields, within: limit).text
    guard !role.isEmpty,
      role.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#".utf8.contains($0) })
    else { throw TransferError(.unauthorized, "the machine has no role") }
    let answer = try await askLocal("GET", try url(roles + role), fields, within: limit)
    return try S3Keys(json: answer.body)
  }

  /// Without a proxy: it could not reach what is near this machine only.
  private func askLocal(
    _ method: String, _ url: ResourceURL, _ fields: HeaderFields, within limit: Duration
  ) async throws -> SendResponse {
    var request = SendRequest(method, url, headers: fields)
    request.isDirect = true
    let answer: SendResponse
    do {
      answer = try await send(request, attempts: 2, within: limit)
    } catch let error as TransferError {
      // The store is not to blame, and no network is missing.
      throw TransferError(.unauthorized, error.fact, advice: Self.advice)
    }
    guard answer.head.status == 200 else { throw refusal(answer) }
    return answer
  }

  private static let advice =
    "if there is none, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use ~/.aws/credentials"

  // MARK: Requests

  /// Asks again after a failure that need not last. No redirect is followed, and no client
  /// certificate shown.
  private func send(
    _ request: SendRequest, attempts: Int, within limit: Duration
  ) async throws -> SendResponse {
    var (request, rest) = (request, attempts)
    request.isOfClient = true
    while true {
      rest -= 1
      do {
        let answer = try await transport.send(request, within: limit, by: clock)
        guard answer.head.status >= 500, rest > 0 else { return answer }
      } catch let error as TransferError where error.isRetryable && rest > 0 {
        continue
      }
    }
  }

  // MARK: Programs

  private static let programLimit: Duration = .seconds(60)

  /// Neither its output nor its errors are shown: both may have keys.
  private func run(_ words: [String]) async throws -> S3Keys {
    guard let programs else {
      throw TransferError(.notYetSupported, "programs cannot be run on this system")
    }
    var random = SystemRandomNumberGenerator()
    let command = ProgramCommand(id: TransferID(using: &random), arguments: words)
    let process = try await io.run { () throws(TransferError) in
      let process = try programs.prepare(command)
      try process.begin()
      return process
    }
    let (end, hasTimedOut) = await process.end(within: Self.programLimit, by: clock)
    try Task.checkCancellation()
    guard !hasTimedOut else {
      throw TransferError(
        .unauthorized, "\(command.name) did not end within \(Self.programLimit)", isRetryable: true)
    }
    guard end.status == .exited(0) else {
      throw TransferError(.unauthorized, "\(command.name) failed", advice: "run it by hand")
    }
    return try S3Keys(output: Array(end.output.bytes))
  }
}

extension SendResponse {
  /// Its first line, if it is text.
  fileprivate var text: String {
    String(String(decoding: body, as: UTF8.self).trimmingBytes(" \r\n").prefix(beforeAnyOf: "\r\n"))
  }
}
