import DequeModule
import HaulControl
import HaulCore
import HaulKit
import NIOConcurrencyHelpers

/// When transfers began and ended, and which attempts failed, since the daemon was started.
final class TransferHistory: Sendable {
  private struct Entry {
    var added: Double?
    var started: Double?
    var ended: Double?
    var attempts: [DetailsDocument.Attempt] = []
  }

  private struct State {
    var entries: [TransferID: Entry] = [:]
    /// In the order of their first events.
    var order: Deque<TransferID> = []
  }

  private static let maximumEntries = 20_000
  private static let maximumAttempts = 20

  private let clock: any TransferClock
  private let state = NIOLockedValueBox(State())

  init(clock: any TransferClock) { self.clock = clock }

  func apply(_ event: TransferEvent) {
    switch event.kind {
    case .added: change(event.id) { $0.added = $1 }
    case .phase(.connecting, _), .phase(.running, _):
      change(event.id) { ($0.started, $0.ended) = ($0.ended == nil ? $0.started ?? $1 : $1, nil) }
    case .attempt(let number, let error, let delay):
      change(event.id) {
        $0.attempts = $0.attempts.suffix(Self.maximumAttempts - 1)
        $0.attempts.append(.init(number: number, time: $1, error: error, delay: delay))
      }
    case .finished: change(event.id) { $0.ended = $1 }
    case .removed:
      state.withLockedValue { state in _ = state.entries.removeValue(forKey: event.id) }
    default: break
    }
  }

  func complete(_ details: inout DetailsDocument) {
    let id = details.id
    guard let entry = state.withLockedValue({ $0.entries[id] }) else { return }
    details.attempts = entry.attempts
    (details.added, details.started, details.ended) = (entry.added, entry.started, entry.ended)
  }

  func complete(_ document: inout TransferDocument) {
    let id = document.id
    guard let entry = state.withLockedValue({ $0.entries[id] }) else { return }
    (document.added, document.ended) = (entry.added, entry.ended)
  }

  private func change(_ id: TransferID, _ body: (inout Entry, Double) -> Void) {
    let now = clock.wallSeconds
    state.withLockedValue { state in
      if state.entries[id] == nil {
        state.order.append(id)
        if state.order.count > Self.maximumEntries, let oldest = state.order.popFirst() {
          state.entries[oldest] = nil
        }
      }
      body(&state.entries[id, default: Entry()], now)
    }
  }
}
