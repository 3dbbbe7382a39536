import HaulCore
import NIOConcurrencyHelpers

/// Origins with an open HTTP/2 connection, which even a single transfer then uses.
final class HTTP2Origins: Sendable {
  /// The client closes a connection that is idle for a minute.
  private static let lifetime: Duration = .seconds(55)
  private let answers = NIOLockedValueBox<[ResourceURL.Origin: Instant]>([:])

  func answered(_ origin: ResourceURL.Origin, at now: Instant) {
    answers.withLockedValue { $0[origin] = now }
  }

  func isOpen(to origin: ResourceURL.Origin, at now: Instant) -> Bool {
    answers.withLockedValue { answers in
      guard let last = answers[origin] else { return false }
      if now - last < Self.lifetime { return true }
      answers[origin] = nil
      return false
    }
  }
}
