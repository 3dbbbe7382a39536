import HaulCore
import NIOConcurrencyHelpers

/// An answer on its way to who takes it. Messages and frames may live on for long: they hold this, and no connection.
final class HeldAnswer: Sendable {
  let head: ResponseHead
  private let response: NIOLockedValueBox<FetchResponse?>

  init(_ response: FetchResponse) {
    head = response.head
    self.response = NIOLockedValueBox(response)
  }

  /// Nil when it was taken before.
  func take() -> FetchResponse? {
    response.withLockedValue { response in
      defer { response = nil }
      return response
    }
  }
}
