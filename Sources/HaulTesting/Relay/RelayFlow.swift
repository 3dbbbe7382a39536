package import NIOCore

/// When bytes of one direction of a connection may leave, by a window and a rate.
package struct RelayFlow: Sendable {
  package enum Turn: Hashable, Sendable {
    case send(Int)
    case wait(NIODeadline)
    /// Blocked until an acknowledgement arrives.
    case blocked
  }

  /// The most bytes that leave at once.
  package static let bufferSize = 64 * 1024

  private let window: Int
  private let start: NIODeadline
  private var inFlight = 0
  private var pacer: Pacer?

  /// Nothing leaves before `start`.
  package init(window: Int, rate: Int64?, start: NIODeadline) {
    self.window = window
    self.start = start
    pacer = rate.map { Pacer(.rate($0), now: start) }
  }

  /// How many of the held bytes may leave, at least one.
  package mutating func turn(held: Int, now: NIODeadline) -> Turn {
    if now < start { return .wait(start) }
    var count = min(held, Self.bufferSize, window - inFlight)
    guard count > 0 else { return .blocked }
    switch pacer?.turn(now) {
    case .wait(let due)?: return .wait(due)
    case .write(let most)?: count = min(count, most)
    case nil: break
    }
    return .send(count)
  }

  package mutating func sent(_ count: Int) {
    inFlight += count
    pacer?.wrote(count)
  }

  /// Notes that so many bytes have arrived.
  package mutating func acknowledged(_ count: Int) {
    inFlight -= count
  }
}
