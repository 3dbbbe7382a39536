import NIOConcurrencyHelpers

/// Hands the manager's orders to whoever runs at this moment: a stream can be read by one only, and ends with it.
final class OrderRelay: Sendable {
  private let target: NIOLockedValueBox<@Sendable (DownloadDriver.Order) -> Void>

  init(to target: @escaping @Sendable (DownloadDriver.Order) -> Void) {
    self.target = NIOLockedValueBox(target)
  }

  func send(_ order: DownloadDriver.Order) { target.withLockedValue { $0(order) } }

  func turn(to next: @escaping @Sendable (DownloadDriver.Order) -> Void) {
    target.withLockedValue { $0 = next }
  }
}
