import DequeModule
import HaulControl
import HaulCore
import HaulKit
import Logging
import NIOConcurrencyHelpers

/// When the newest transfers began, and which attempts failed since the daemon was started. The
/// times are kept in a file; after a crash, those of the last seconds are missing. The list has the
/// other dates.
final class TransferHistory: Sendable {
  private struct Entry {
    var started: Double?
    var ended: Double?
    var attempts: [DetailsDocument.Attempt] = []
  }

  private struct State {
    var entries: [TransferID: Entry] = [:]
    /// In the order of their first events.
    var order: Deque<TransferID> = []
    var isSaved = true
  }

  private static let maximumEntries = 20_000
  private static let maximumAttempts = 20
  /// The file is written at most this often.
  private static let pause: Duration = .seconds(5)

  private let clock: any TransferClock
  private let file: StateFile
  private let logger: Logger
  private let io = BlockingIO()
  private let state = NIOLockedValueBox(State())

  init(clock: any TransferClock, file: StateFile, logger: Logger) {
    (self.clock, self.file, self.logger) = (clock, file, logger)
  }

  func apply(_ event: TransferEvent) {
    switch event.kind {
    case .phase(.connecting, _), .phase(.running, _):
      change(event.id) { ($0.started, $0.ended) = ($0.ended == nil ? $0.started ?? $1 : $1, nil) }
    case .attempt(let number, let error, let delay):
      change(event.id) {
        $0.attempts = $0.attempts.suffix(Self.maximumAttempts - 1)
        $0.attempts.append(.init(number: number, time: $1, error: error, delay: delay))
      }
    case .finished: change(event.id) { $0.ended = $1 }
    case .removed:
      state.withLockedValue { state in
        if state.entries.removeValue(forKey: event.id) != nil { state.isSaved = false }
      }
    default: break
    }
  }

  func complete(_ details: inout DetailsDocument) {
    let id = details.id
    guard let entry = state.withLockedValue({ $0.entries[id] }) else { return }
    details.attempts = entry.attempts
    details.started = entry.started
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
      state.isSaved = false
    }
  }
}

/// The file: a line for each transfer, with its id and up to two times in milliseconds since
/// 1970: when it began, and when it ended.
extension TransferHistory {
  /// Reads what the daemon before this one knew.
  func restore() async {
    do throws(TransferError) {
      let bytes = try await io.run { [file] () throws(TransferError) in try file.read() }
      let lines = String(decoding: bytes ?? [], as: UTF8.self).byteSplit(separator: "\n")
      state.withLockedValue { state in
        for line in lines {
          let fields = line.byteSplit(separator: " ")
          guard fields.count == 3, let id = TransferID(String(fields[0])), state.entries[id] == nil
          else { continue }
          let times = fields.dropFirst().map { Int64($0).map { Double($0) / 1000 } }
          state.entries[id] = Entry(started: times[0], ended: times[1])
          state.order.append(id)
        }
      }
    } catch {
      logger.error("the times of earlier transfers: \(error.message)")
    }
  }

  /// Saves changes until the task is cancelled.
  func keep() async {
    while (try? await clock.sleep(until: clock.now + Self.pause)) != nil { await save() }
  }

  /// Saves what has changed, with the newest transfers last.
  func save() async {
    let text: String? = state.withLockedValue { state in
      guard !state.isSaved else { return nil }
      state.isSaved = true
      return state.order.reduce(into: "") { text, id in
        guard let entry = state.entries[id] else { return }
        let times = [entry.started, entry.ended].map { time in
          time.flatMap { Int64(exactly: ($0 * 1000).rounded()) }.map { "\($0)" } ?? "-"
        }
        text += "\(id) \(times[0]) \(times[1])\n"
      }
    }
    guard let text else { return }
    do throws(TransferError) {
      try await io.run { [file] () throws(TransferError) in try file.write(text.utf8) }
    } catch {
      logger.error("the times of transfers: \(error.message)")
    }
  }
}
