import FoundationEssentials
package import HaulControl
import HaulCore
import HaulKit
import Logging

/// The newest notices, and how many of them were not seen, for the web page.
package struct NoticeList: Codable, Hashable, Sendable {
  package static let limit = 100

  /// The list has, or had, everything up to this number.
  package private(set) var known: Int
  /// Everything up to this number was seen.
  package private(set) var seen: Int
  package private(set) var unseen = 0
  /// Oldest first.
  private var notices: [Notice] = []

  /// - Parameter present: earlier ends are not reported.
  package init(present: Int) { (known, seen) = (present, present) }

  package mutating func add(_ new: [Notice], through number: Int) {
    notices += new
    notices.removeFirst(max(0, notices.count - Self.limit))
    // A wait has no number of its own, and a list has none.
    unseen += new.count { $0.number > seen || [.waiting, .list].contains($0.kind) }
    known = number
  }

  /// Marks notices up to this number as seen. Later ends stay unseen.
  package mutating func see(upTo number: Int) {
    seen = max(seen, min(number, known))
    // Unseen notices that are no longer kept count until all kept ones were seen.
    guard let oldest = notices.first, seen >= oldest.number else { return }
    unseen = notices.count { $0.number > seen }
  }

  /// Removes notices up to this number, which were seen.
  package mutating func clear(upTo number: Int) {
    see(upTo: number)
    notices.removeAll { $0.number <= number }
    unseen = notices.count { $0.number > seen }
  }

  package var page: NoticePage { NoticePage(notices: notices.reversed(), unseen: unseen) }
}

/// Keeps the list of notices in a file, so that it survives the end of the daemon.
actor NoticeBoard {
  private var list: NoticeList
  private var waits = LongWaits()
  private let file: StateFile
  /// One thread, so that a newer list is never replaced by an older one.
  private let io: BlockingIO

  private static let batch = 1000
  /// The least time between two changes of the file by ends.
  private static let pause: Duration = .seconds(1)

  /// - Parameter present: the number of the last state change.
  /// - Throws: `io`, `disk-full`, `permission-denied`.
  init(_ file: StateFile, present: Int, io: BlockingIO) async throws(TransferError) {
    (self.file, self.io) = (file, io)
    list = try await io.run { () throws(TransferError) in
      // An unreadable list is replaced: it only shows the past.
      if let bytes = try file.read(),
        let list = try? JSONDecoder().decode(NoticeList.self, from: Data(bytes)),
        list.known <= present
      {
        return list
      }
      return NoticeList(present: present)
    }
    try await save()
  }

  var page: NoticePage { list.page }

  /// - Throws: `io`, `disk-full`, when it would not survive a crash.
  func see(
    upTo number: Int, clearing clears: Bool = false
  ) async throws(TransferError) -> NoticePage {
    if clears { list.clear(upTo: number) } else { list.see(upTo: number) }
    try await save()
    return list.page
  }

  /// Adds every end until the manager has shut down.
  func run(_ manager: TransferManager, _ logger: Logger) async {
    let events = manager.events(after: list.known)
    let clock = SystemClock()
    var (saved, isSaved) = (Instant(clock.now - Instant() - Self.pause), true)
    while true {
      let some = await events.next(atMost: Self.batch)
      let names = await manager.names(of: some)
      if take(some, names, clock.wallSeconds) { isSaved = false }
      // After a crash, what was not saved is read from the log again.
      if !isSaved, some.isEmpty || clock.now - saved >= Self.pause {
        await save(logger)
        (saved, isSaved) = (clock.now, true)
      }
      guard !some.isEmpty else { return }
    }
  }

  /// Adds lists that failed, until the task is cancelled.
  func run(_ lists: FailedLists, _ logger: Logger) async {
    for await notice in lists.notices() {
      list.add([notice], through: list.known)
      await save(logger)
    }
  }

  private func save(_ logger: Logger) async {
    do throws(TransferError) {
      try await save()
    } catch {
      logger.error("notices: \(error.message)")
    }
  }

  /// Whether there are new notices.
  private func take(
    _ events: [QueueEvent], _ names: [TransferID: String], _ time: Double
  ) -> Bool {
    var (new, number): ([Notice], Int) = ([], list.known)
    for event in events {
      switch event {
      case .transfer(let event):
        new += Notice.notices(of: event, name: names[event.id], time: time)
        number = event.number ?? number
        new += waits.notices(of: event, after: number, name: names[event.id], time: time)
      case .reset(let snapshot):
        number = snapshot.number
        waits.reset(to: snapshot.transfers, time: time)
      }
    }
    list.add(new, through: number)
    return !new.isEmpty
  }

  private func save() async throws(TransferError) {
    let bytes: Data
    do {
      bytes = try StrictJSON.encode(list)
    } catch {
      throw TransferError(.internal, "the list of notices cannot be written as JSON")
    }
    try await io.run { [file] () throws(TransferError) in try file.write(bytes) }
  }
}
