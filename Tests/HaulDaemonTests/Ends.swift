import HaulControl
import HaulCore
import HaulDaemon
import HaulKit

/// Events of ends, as a manager emits them.
enum Ends {
  static let id: TransferID = {
    var generator = Fixed()
    return TransferID("ABCDEFGH") ?? TransferID(using: &generator)
  }()

  static func event(
    _ number: Int, _ state: TransferResult.State = .completed, path: String? = "/d/a.iso",
    error: TransferError? = nil, group: String? = nil, groupEnd: GroupEnd? = nil
  ) -> QueueEvent {
    let result = TransferResult(state: state, path: path, bytes: 5, error: error)
    return other(number, .finished(result), group: group, groupEnd: groupEnd)
  }

  static func wait(_ reason: WaitReason) -> QueueEvent {
    .transfer(TransferEvent(number: nil, id: id, identity: nil, kind: .waiting(reason)))
  }

  static func other(
    _ number: Int, _ kind: TransferEvent.Kind, group: String? = nil, groupEnd: GroupEnd? = nil
  ) -> QueueEvent {
    .transfer(
      TransferEvent(
        number: number, id: id,
        identity: TransferIdentity(url: nil, identifier: nil, group: group), kind: kind,
        groupEnd: groupEnd))
  }
}

/// Draws the largest number, so that each delay is the longest.
struct Fixed: RandomNumberGenerator {
  mutating func next() -> UInt64 { .max }
}

/// An outbox with a clock.
struct OutboxWorld {
  var outbox: NoticeOutbox
  var now = Instant()
  private var generator = Fixed()

  init(_ level: NoticeSettings.Level = .all, mostAtOnce: Int? = nil, spacing: Duration = .zero) {
    outbox = NoticeOutbox(
      NoticeOutbox.Rules(level, mostAtOnce: mostAtOnce, spacing: spacing), cursor: 10)
  }

  mutating func handle(_ input: NoticeOutbox.Input) -> [NoticeOutbox.Command] {
    outbox.handle(input, at: now, using: &generator)
  }

  mutating func read(_ events: QueueEvent...) -> [NoticeOutbox.Command] { read(events) }

  mutating func read(_ events: [QueueEvent]) -> [NoticeOutbox.Command] {
    handle(.read(events, names: [:], time: 0))
  }
}

extension [NoticeOutbox.Command] {
  var delivered: [Notice] {
    compactMap { if case .deliver(let notice) = $0 { notice } else { nil } }
  }

  var stored: [Int] { compactMap { if case .store(let number) = $0 { number } else { nil } } }

  var logged: [String] { compactMap { if case .log(let line) = $0 { line } else { nil } } }

  var waits: [Instant] {
    compactMap { if case .wait(let instant) = $0 { instant } else { nil } }
  }
}
