public import HaulCore

/// A request that is about to be sent, for `TransferManager.Configuration.prepare`.
public struct OutgoingRequest: Sendable, Hashable {
  /// Where it goes; without secrets when printed.
  public let url: ResourceURL
  /// 1; 2 when the server has just refused the same request with 401 or 403: what the hook
  /// remembers is to be made anew.
  public let attempt: Int

  /// The method.
  public var method: String { "GET" }
  /// The whole address as it is sent, its query included, for signatures. It may hold secrets:
  /// neither print nor store it.
  public var address: String { url.absoluteString }
}

/// Gives the header fields that a request is to carry beside its own; they take the place of those
/// of the same names.
///
/// Called for every request to the transfer's own origin, from several tasks at once; a pause waits
/// for it unless it heeds its task's cancellation. What it throws fails the attempt: a
/// `TransferError` as it is, anything else as one with `unauthorized`, which is tried again.
public typealias RequestPreparation =
  @Sendable (OutgoingRequest) async throws -> [(name: String, value: String)]

extension Engine {
  /// Sends a request with what the hook adds; once more when the server refuses it and there is a
  /// hook. Its fields are nowhere but in the request: they are not logged, and a redirect to
  /// another origin leaves them behind.
  func send(_ request: FetchRequest, _ silence: IdleTimer?) async throws -> FetchResponse {
    guard let prepare, !request.hasLeftOrigin else { return try await transport.fetch(request) }
    let response = try await send(request, attempt: 1, prepare, silence)
    let isRefused = [401, 403].contains(response.head.status) && !response.head.wasRedirected
    return isRefused ? try await send(request, attempt: 2, prepare, silence) : response
  }

  private func send(
    _ request: FetchRequest, attempt: Int, _ prepare: RequestPreparation, _ silence: IdleTimer?
  ) async throws -> FetchResponse {
    // The hook's time is not the server's.
    silence?.end()
    let fields = try await fields(for: request, attempt: attempt, prepare)
    var prepared = request
    for field in fields { prepared.headers.remove(field.name) }
    for field in fields { prepared.headers.append(field.name, field.value) }
    silence?.begin(at: clock.now)
    return try await transport.fetch(prepared)
  }

  private func fields(
    for request: FetchRequest, attempt: Int, _ prepare: RequestPreparation
  ) async throws -> [(name: String, value: String)] {
    do {
      return try await prepare(OutgoingRequest(url: request.url, attempt: attempt))
    } catch let error as TransferError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      // What such an error says may be secret.
      throw TransferError(
        .unauthorized, "the request could not be prepared (\(type(of: error)))",
        isRetryable: true)
    }
  }
}
