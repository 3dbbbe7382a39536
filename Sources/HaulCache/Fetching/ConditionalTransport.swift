import HaulCore
import NIOConcurrencyHelpers

/// A transport that sends the conditions of a cache, and notes the head of each answer.
///
/// The engine below a cache asks for bytes, and knows no conditions. It sends them with the first
/// request of a fetch only: a request that resumes would otherwise be answered by "not modified".
struct ConditionalTransport: Transport {
  /// One fetch of the cache, over all its attempts.
  struct Exchange: Sendable {
    let conditions: [HeaderFields.Field]
    let begun: @Sendable () -> Void
    var head: ResponseHead?
    var requestedAt: Double = 0
    var answeredAt: Double = 0
  }

  /// The name of a field that names the exchange. It is not sent.
  static var exchangeField: String { "Haul-Cache-Exchange" }

  let base: any Transport
  let clock: any TransferClock
  private let exchanges = NIOLockedValueBox<[String: Exchange]>([:])

  init(base: any Transport, clock: any TransferClock) { (self.base, self.clock) = (base, clock) }

  /// - Parameter begun: called when a request is sent.
  func begin(
    _ name: String, conditions: [HeaderFields.Field], begun: @escaping @Sendable () -> Void
  ) {
    exchanges.withLockedValue { $0[name] = Exchange(conditions: conditions, begun: begun) }
  }

  /// Ends an exchange, and returns what was noted.
  func end(_ name: String) -> Exchange? {
    exchanges.withLockedValue { $0.removeValue(forKey: name) }
  }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    guard let name = request.headers[Self.exchangeField] else {
      return try await base.fetch(request)
    }
    var sent = request
    sent.headers.remove(Self.exchangeField)
    exchanges.withLockedValue({ $0[name]?.begun })?()
    guard request.firstByte ?? 0 == 0 else { return try await base.fetch(sent) }
    for condition in exchanges.withLockedValue({ $0[name]?.conditions ?? [] }) {
      sent.headers.append(condition.name, condition.value)
    }
    let requestedAt = clock.wallSeconds
    let response = try await base.fetch(sent)
    let answeredAt = clock.wallSeconds
    exchanges.withLockedValue { exchanges in
      exchanges[name]?.head = response.head
      exchanges[name]?.requestedAt = requestedAt
      exchanges[name]?.answeredAt = answeredAt
    }
    if response.head.status == 304 {
      throw TransferError(.refused, "the resource was not modified", status: 304)
    }
    return response
  }
}
