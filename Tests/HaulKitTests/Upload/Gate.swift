import HaulCore
import NIOConcurrencyHelpers

/// The way of one machine, which holds one of its requests to the server that gets a file before it
/// is sent.
final class Gate: Transport {
  private let base: any Transport
  private let held: Int
  private let requests = NIOLockedValueBox(0)
  private let (opening, key) = AsyncStream<Never>.makeStream()

  init(_ base: any Transport, holding held: Int) { (self.base, self.held) = (base, held) }

  var isClosed: Bool { requests.withLockedValue { $0 > held } }

  func open() { key.finish() }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    try await base.fetch(request)
  }

  func send(_ message: SendRequest) async throws -> SendResponse {
    let number = requests.withLockedValue { requests in
      defer { requests += 1 }
      return requests
    }
    if number == held { for await _ in opening {} }
    return try await base.send(message)
  }
}
