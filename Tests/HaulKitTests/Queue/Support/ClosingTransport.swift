import HaulCore
import HaulHTTP
import HaulTesting
import NIOConcurrencyHelpers

/// The real network, but a stopped answer ends only after the server has seen its connection close.
final class ClosingTransport: Transport {
  private static let header = "X-Test-Request"

  private struct State {
    var last = 0
    var closed: Set<String> = []
  }

  /// Where a stopped answer waits before its end is reported; open unless a test closes it.
  let gate: StepGate
  private let base: HTTPTransport
  private let server: FaultServer
  private let state = NIOLockedValueBox(State())

  init(_ server: FaultServer, gate: StepGate) throws {
    (self.server, self.gate) = (server, gate)
    base = try HTTPTransport(HTTPTransport.Settings())
  }

  /// Whether the engine got its end only after the server had seen it.
  func hasSeenClose(of request: RequestRecord) -> Bool {
    guard let number = request.header(Self.header) else { return false }
    return state.withLockedValue { $0.closed.contains(number) }
  }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    let (number, request) = numbered(request)
    do {
      return watched(try await base.fetch(request), number, request)
    } catch {
      // A request that the server has not seen may still arrive, or never.
      if Task.isCancelled, record(number, server.snapshot) != nil { await close(number, request) }
      throw error
    }
  }

  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    let (number, request) = numbered(request)
    return base.begin(request) { result in
      answer(result.map { self.watched($0, number, request) })
    }
  }

  func send(_ request: SendRequest) async throws -> SendResponse { try await base.send(request) }

  func shutdown() async { await base.shutdown() }

  private func numbered(_ request: FetchRequest) -> (number: String, request: FetchRequest) {
    let number = state.withLockedValue { state in
      state.last += 1
      return "\(state.last)"
    }
    var request = request
    request.headers.append(Self.header, number)
    return (number, request)
  }

  private func watched(
    _ response: FetchResponse, _ number: String, _ request: FetchRequest
  ) -> FetchResponse {
    let body = Body(base: response.body) { await self.close(number, request) }
    return FetchResponse(
      head: response.head, body: body, executor: response.executor, collected: response.collected)
  }

  private func close(_ number: String, _ request: FetchRequest) async {
    await gate.pass(request.url.description)
    // The server may have been shut down before the manager; then nothing is known.
    guard (try? await server.waitUntil { Self.record(number, $0)?.outcome != nil }) != nil
    else { return }
    state.withLockedValue { _ = $0.closed.insert(number) }
  }

  private func record(_ number: String, _ snapshot: FaultServerSnapshot) -> RequestRecord? {
    Self.record(number, snapshot)
  }

  private static func record(_ number: String, _ snapshot: FaultServerSnapshot) -> RequestRecord? {
    snapshot.requests.first { $0.header(header) == number }
  }

  private struct Body: AsyncSequence, Sendable {
    typealias Element = any ByteChunk
    typealias Failure = any Error

    let base: FetchResponse.Body
    let closed: @Sendable () async -> Void

    func makeAsyncIterator() -> Iterator {
      Iterator(base: base.makeAsyncIterator(), closed: closed)
    }

    struct Iterator: AsyncIteratorProtocol {
      var base: any AsyncIteratorProtocol<any ByteChunk, any Error>
      let closed: @Sendable () async -> Void

      mutating func next() async throws -> (any ByteChunk)? {
        try await next(isolation: #isolation)
      }

      mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws -> (any ByteChunk)? {
        do {
          let chunk = try await base.next(isolation: actor)
          if chunk == nil, Task.isCancelled { await closed() }
          return chunk
        } catch {
          if Task.isCancelled { await closed() }
          throw error
        }
      }
    }
  }
}
