import NIOConcurrencyHelpers
import NIOCore

/// The shared state of a relay's connections, on its one event loop.
final class RelayHub {
  let rules: RelayRules
  let host: String
  let port: Int
  let share: TotalRateLimiter?
  private let record: NIOLockedValueBox<RelaySnapshot>
  private let began = NIODeadline.now()

  init(
    _ rules: RelayRules, host: String, port: Int, record: NIOLockedValueBox<RelaySnapshot>,
    eventLoop: any EventLoop
  ) {
    self.rules = rules
    self.host = host
    self.port = port
    self.record = record
    share = rules.total.map { TotalRateLimiter($0, eventLoop: eventLoop) }
  }

  func accept(_ client: any Channel) throws {
    let number = record.withLockedValue { snapshot in
      snapshot.accepted += 1
      return snapshot.accepted
    }
    changeOpen(by: 1)
    client.closeFuture.assumeIsolated().whenComplete { _ in self.changeOpen(by: -1) }
    let connection = RelayConnection(number: number, client: client, hub: self)
    try client.pipeline.syncOperations.addHandler(RelayHandler(connection, side: .client))
  }

  func delivered(_ count: Int) {
    record.withLockedValue { $0.bytes += Int64(count) }
  }

  func didReset() {
    record.withLockedValue { $0.resets += 1 }
  }

  private func changeOpen(by change: Int) {
    let now = NIODeadline.now() - began
    share?.open += change
    record.withLockedValue { snapshot in
      let open = (snapshot.history.last?.open ?? 0) + change
      snapshot.history.append(.init(nanoseconds: now.nanoseconds, open: open))
    }
  }
}
