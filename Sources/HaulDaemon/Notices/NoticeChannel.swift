import HaulControl
import HaulCore
import HaulKit
import Logging

/// Delivers notices in one way: to the desktop, a webhook or a command.
protocol NoticeSender: Sendable {
  /// Returns when the notice was accepted.
  func send(_ notice: Notice) async throws(NoticeOutbox.Failure)
  /// Ends what still runs for delivered notices.
  func close() async
}

extension NoticeSender {
  func close() async {}
}

/// Delivers notices through one sender: performs the commands of `NoticeOutbox`. Each channel reads
/// the log on its own, so that none waits for another.
struct NoticeChannel: Sendable {
  let name: String
  let rules: NoticeOutbox.Rules
  let sender: any NoticeSender
  /// The number up to which everything was delivered, in decimal.
  let cursor: StateFile
  let manager: TransferManager
  let io: BlockingIO
  let clock: any TransferClock
  let logger: Logger

  private static let batch = 256

  /// Runs until the manager has shut down, or the task is cancelled. Lists that failed are
  /// delivered beside the ends of transfers.
  func run(from start: Int, _ lists: FailedLists) async {
    let failed = lists.notices()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await run(NoticeOutbox(rules, cursor: 0), storesCursor: false) {
          for await notice in failed { return .found(notice) }
          return .ended
        }
      }
      let events = manager.events(after: start)
      await run(NoticeOutbox(rules, cursor: start), storesCursor: true) { await read(events) }
      group.cancelAll()
    }
  }

  private func run(
    _ outbox: NoticeOutbox, storesCursor: Bool, _ read: () async -> NoticeOutbox.Input
  ) async {
    var (outbox, generator) = (outbox, SystemRandomNumberGenerator())
    var commands = outbox.handle(.started, at: clock.now, using: &generator)
    while !commands.isEmpty {
      let command = commands.removeFirst()
      if case .store = command, !storesCursor { continue }
      guard let input = await perform(command, read) else { continue }
      commands += outbox.handle(input, at: clock.now, using: &generator)
    }
  }

  private func read(_ events: QueueEvents) async -> NoticeOutbox.Input {
    let some = await events.next(atMost: Self.batch)
    guard !some.isEmpty else { return .ended }
    return .read(some, names: await manager.names(of: some), time: SystemClock().wallSeconds)
  }

  /// The input that follows from a command, if any.
  private func perform(
    _ command: NoticeOutbox.Command, _ read: () async -> NoticeOutbox.Input
  ) async -> NoticeOutbox.Input? {
    switch command {
    case .read: return await read()
    case .deliver(let notice):
      do throws(NoticeOutbox.Failure) {
        try await sender.send(notice)
        return .delivered
      } catch {
        return Task.isCancelled ? nil : .failed(error)
      }
    case .wait(let instant):
      // Cancelled: the daemon ends, and the next one delivers the rest.
      guard (try? await clock.sleep(until: instant)) != nil else { return nil }
      return .waited
    case .store(let number):
      await store(number)
      return nil
    case .log(let line):
      logger.warning("notices: \(name): \(line)")
      return nil
    case .stop: return nil
    }
  }

  /// If this fails, nothing is delivered again in this run.
  private func store(_ number: Int) async {
    do throws(TransferError) {
      try await io.run { [cursor] () throws(TransferError) in
        try cursor.write("\(number)\n".utf8)
      }
    } catch {
      logger.error("notices: \(name): \(error.message)")
    }
  }

  /// The stored cursor. A new channel begins with the present, not with earlier ends.
  func start(at present: Int) async throws(TransferError) -> Int {
    try await io.run { [name, cursor, logger] () throws(TransferError) in
      if let bytes = try cursor.read() {
        let number = Int(String(decoding: bytes, as: UTF8.self).prefix(beforeAnyOf: "\n"))
        if let number, number >= 0 { return number }
        logger.error("notices: \(name): \(cursor.path) is damaged; it begins with the present")
      }
      try cursor.write("\(present)\n".utf8)
      return present
    }
  }
}

extension TransferManager {
  /// The names of transfers that ended or wait for long, as the list has them. A completed download
  /// has its name in its path, and needs no look-up.
  func names(of events: [QueueEvent]) async -> [TransferID: String] {
    let ids = events.compactMap { event -> TransferID? in
      guard case .transfer(let event) = event else { return nil }
      return switch event.kind {
      case .finished(let result): result.path == nil ? event.id : nil
      case .waiting(let reason): LongWaits.concerns(reason) ? event.id : nil
      default: nil
      }
    }
    guard !ids.isEmpty else { return [:] }
    // Without the row, the notice has the id as its name.
    let rows = (try? await coordinator.views(of: Set(ids).sorted())) ?? []
    return Dictionary(rows.map { ($0.row.id, $0.row.name) }, uniquingKeysWith: { $1 })
  }
}
