public import HaulCore

/// A request that is about to be sent, for `TransferManager.Configuration.prepare`.
public struct OutgoingRequest: Sendable, Hashable {
  /// The address; printed without its secrets.
  public let url: ResourceURL
  /// 1, or 2 when the server has just refused the same request with 401 or 403: renew cached
  /// credentials then.
  public let attempt: Int

  /// The method.
  public var method: String { "GET" }
  /// The whole address as sent, with its query, for signatures. It may hold secrets: do not print
  /// or store it.
  public var address: String { url.absoluteString }
}

/// Returns header fields to add to a request; they replace fields of the same names.
///
/// Called for every request to the transfer's own origin, from several tasks at once. A pause waits
/// for it unless it stops when its task is cancelled. An error fails the attempt: a `TransferError`
/// as it is, any other as `unauthorized`, which is retried.
public typealias RequestPreparation =
  @Sendable (OutgoingRequest) async throws -> HeaderFields

extension Engine {
  /// Sends a request with the fields of the hook, and once more if the server refuses it. The
  /// fields are not logged, and not sent to another origin after a redirect.
  func send(_ request: FetchRequest, _ idleTimer: IdleTimer?) async throws -> FetchResponse {
    let response = try await sendPrepared(request, idleTimer)
    guard let validate = configuration.validate, 200..<300 ~= response.head.status else {
      return response
    }
    // The time of the hook does not count toward the idle timeout.
    idleTimer?.end()
    do {
      try await validate(TransferResponse(response.head))
    } catch let error as TransferError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      // The text of such an error may hold secrets.
      throw TransferError(.refused, "the answer was not accepted (\(type(of: error)))")
    }
    idleTimer?.begin(at: clock.now)
    return response
  }

  private func sendPrepared(
    _ request: FetchRequest, _ idleTimer: IdleTimer?
  ) async throws -> FetchResponse {
    if let login = request.signing { return try await send(request, signedBy: login) }
    guard !request.hasLeftOrigin else { return try await transport.fetch(request) }
    guard let prepare else {
      return request.hasCredential
        ? try await sendAuthorized(request, idleTimer) : try await transport.fetch(request)
    }
    let response = try await send(request, attempt: 1, prepare, idleTimer)
    let isRefused = [401, 403].contains(response.head.status) && !response.head.wasRedirected
    return isRefused ? try await send(request, attempt: 2, prepare, idleTimer) : response
  }

  /// Sends a request to an S3 store: each attempt has a new signature. What a client over TCP asks
  /// for has no key of its owner's role.
  private func send(
    _ request: FetchRequest, signedBy login: S3Login
  ) async throws -> FetchResponse {
    let source: S3KeySource
    switch login.key {
    case .known(let key): return try await ask(request, by: key, login)
    case .of(let known): source = known
    }
    guard !request.isOfClient else { throw Self.noRoleForClients }
    let key = try await s3Keys.keys(of: source)
    let response = try await ask(request, by: key, login)
    guard !response.head.wasRedirected else { return response }
    switch response.head.status {
    // A key that has expired.
    case 400: s3Keys.refused(key, of: source)
    // A key that the store does not know, or an object that the key may not read.
    case 403: s3Keys.doubted(key, of: source)
    default: return response
    }
    let newer = try await s3Keys.keys(of: source)
    return newer == key ? response : try await ask(request, by: newer, login)
  }

  /// Sends a signed request. If the store refuses it, its head has what the store says.
  private func ask(
    _ request: FetchRequest, by key: S3Credentials, _ login: S3Login
  ) async throws -> FetchResponse {
    let response = try await transport.fetch(signed(request, by: key, login))
    guard response.head.status >= 300, response.head.status != 416, !response.head.wasRedirected
    else { return response }
    var head = response.head
    let body = await words(of: response.body)
    try Task.checkCancellation()
    let fields = request.headers.map(\.value).filter { $0.utf8.count >= 8 }
    let secrets = [key.secretAccessKey, key.sessionToken] + fields
    head.refusal = SendResponse(head: head, body: body).without(secrets).body
    return FetchResponse(head: head, bytes: [UInt8]())
  }

  /// The start of a body, which is waited for only for seconds: the status has decided.
  private func words(of body: FetchResponse.Body) async -> [UInt8] {
    await withTaskGroup(of: [UInt8].self) { [clock] group in
      group.addTask {
        var bytes: [UInt8] = []
        do {
          for try await chunk in body {
            chunk.withBytes { bytes += $0.prefix(Self.longestWords - bytes.count) }
            if bytes.count == Self.longestWords { break }
          }
        } catch {
          // What came before the end may say it all the same.
        }
        return bytes
      }
      group.addTask {
        // It is cancelled when the body is there.
        try? await clock.sleep(until: clock.now + .seconds(10))
        return []
      }
      defer { group.cancelAll() }
      return await group.next() ?? []
    }
  }

  private static let longestWords = 64 << 10

  private func signed(
    _ request: FetchRequest, by key: S3Credentials, _ login: S3Login
  ) -> FetchRequest {
    let signer = RequestSigner(key, region: login.region, wallSeconds: clock.wallSeconds)
    var signed = request
    signed.headers = signer.sign(
      "GET", request.url, request.headers, payload: RequestSigner.hash([]))
    return signed
  }

  private func send(
    _ request: FetchRequest, attempt: Int, _ prepare: RequestPreparation, _ idleTimer: IdleTimer?
  ) async throws -> FetchResponse {
    // The time of the hook does not count toward the idle timeout.
    idleTimer?.end()
    let fields = try await fields(for: request, attempt: attempt, prepare)
    var prepared = request
    for field in fields { prepared.headers.remove(field.name) }
    for field in fields { prepared.headers.append(field.name, field.value) }
    idleTimer?.begin(at: clock.now)
    return try await transport.fetch(prepared)
  }

  private func fields(
    for request: FetchRequest, attempt: Int, _ prepare: RequestPreparation
  ) async throws -> HeaderFields {
    do {
      return try await prepare(OutgoingRequest(url: request.url, attempt: attempt))
    } catch let error as TransferError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      // The text of such an error may hold secrets.
      throw TransferError(
        .unauthorized, "the request could not be prepared (\(type(of: error)))",
        isRetryable: true)
    }
  }
}
