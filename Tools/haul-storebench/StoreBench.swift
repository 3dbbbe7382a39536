import ArgumentParser
import HaulCore
import HaulStore

/// Measures a queue in a database, and prints one line for each stage: the time, the rate and the
/// memory of the process.
///
/// Each stage runs in its own process, in the order of these cases.
@main
struct StoreBench: AsyncParsableCommand {
  enum Stage: String, CaseIterable, ExpressibleByArgument {
    case add, open, page, update, cancel, remove
    /// The same through a manager that starts nothing.
    case queue, reopen, pick, cancelAll
    /// Calls of the library, one by one.
    case calls
  }

  static let configuration = CommandConfiguration(commandName: "haul-storebench")

  @Argument(help: "the directory of the store") var directory: String
  @Argument(help: "add, open, page, update, cancel, remove; queue, reopen, pick, cancelAll; calls")
  var stage: Stage
  @Option(help: "members in all") var members = 1_000_000
  @Option(help: "members in one change") var batch = 10_000
  @Option(help: "different hosts") var hosts = 100

  func run() async throws {
    let clock = BenchClock()
    switch stage {
    case .queue, .reopen, .cancelAll: return try await runManager(clock)
    case .pick: return pick(clock)
    case .calls: return try await runCalls(clock)
    case .add, .open, .page, .update, .cancel, .remove: break
    }
    let start = clock.now
    let store = try await SQLiteStore(directory: directory, clock: clock)
    report("opened", 1, clock.now - start)
    switch stage {
    case .add: try await add(store, clock)
    case .open: _ = try await load(store, clock)
    case .page: try await page(store, clock)
    default: try await change(store, clock)
    }
    let end = clock.now
    await store.close()
    report("closed", 1, clock.now - end)
  }

  private func load(_ store: SQLiteStore, _ clock: BenchClock) async throws -> [QueuedMember] {
    let start = clock.now
    let queue = try await store.open()
    report("open", queue.members.count, clock.now - start)
    return queue.members
  }

  private func add(_ store: SQLiteStore, _ clock: BenchClock) async throws {
    var random = SystemRandomNumberGenerator()
    var longest = Duration.zero
    var time = Duration.zero
    for first in stride(from: 0, to: members, by: batch) {
      let change = try added(first..<min(first + batch, members), &random)
      let start = clock.now
      try await store.commit(change)
      let taken = clock.now - start
      longest = max(longest, taken)
      time += taken
    }
    report("add, \(batch) a change", members, time)
    report("its slowest change", min(batch, members), longest)
  }

  func request(_ number: Int) throws -> TransferRequest {
    let host = "mirror-\(number % hosts).downloads.example.org"
    var request = TransferRequest.download(
      try ResourceURL("https://\(host)/pool/main/n/name/package-\(number).tar.xz"),
      to: .directory("/srv/downloads/pool"))
    request.group = number.isMultiple(of: 4) ? "group-\(number % 1000)" : nil
    return request
  }

  /// Members as an import adds them: an event for each, some in groups.
  private func added(
    _ range: Range<Int>, _ random: inout SystemRandomNumberGenerator
  ) throws -> StoreChange {
    var change = StoreChange()
    for number in range {
      let request = try request(number)
      var storedState = StoredState()
      storedState.rank = Int64(number) << 20
      let id = TransferID(using: &random)
      change.added.append(TransferRecord(id: id, request: request, storedState: storedState))
      change.events.append(
        StoredEvent(
          number: number + 1, id: id, kind: .added(target: "/srv/downloads/pool/package-\(number)"))
      )
    }
    change.batch = .init(key: "batch-\(range.lowerBound)", ids: change.added.map(\.id))
    return change
  }

  private func page(_ store: SQLiteStore, _ clock: BenchClock) async throws {
    // Ranks as a manager assigns them.
    let middle = Int64(members / 2) << 20
    let queries: [(String, RecordQuery)] = [
      ("first page", RecordQuery()),
      ("page in the middle", RecordQuery(afterRank: middle)),
      ("page of a group", RecordQuery(group: "group-500")),
      ("page of failed", RecordQuery(statuses: [.failed, .paused])),
      ("page of 1000", RecordQuery(statuses: [.queued], atMost: 1000)),
    ]
    for (name, query) in queries {
      let start = clock.now
      let found = try await store.records(where: query)
      report(name, found.count, clock.now - start)
    }
  }

  private func change(_ store: SQLiteStore, _ clock: BenchClock) async throws {
    let queue = try await store.open()
    var change = StoreChange()
    var number = queue.lastEvent
    for member in queue.members {
      if stage == .remove {
        change.removed.append(member.id)
        continue
      }
      var storedState = member.storedState
      if stage == .update {
        storedState.rank += 1
        storedState.priority = .background
        change.updated.append(.init(id: member.id, storedState: storedState))
        continue
      }
      let result = TransferResult(state: .cancelled)
      storedState.status = .cancelled
      number += 1
      change.updated.append(.init(id: member.id, storedState: storedState, result: result))
      change.events.append(StoredEvent(number: number, id: member.id, kind: .finished(result)))
    }
    let start = clock.now
    try await store.commit(change)
    report("\(stage.rawValue) all in one change", queue.members.count, clock.now - start)
  }

  func report(_ what: String, _ count: Int, _ time: Duration) {
    let microseconds = Int(time / .microseconds(1))
    let milliseconds = "\(microseconds / 1000).\(microseconds / 100 % 10)"
    let rate = time > .zero ? Int(Double(count) / (time / .seconds(1))) : 0
    let memory = ProcessMemory()
    print(
      "\(what): \(count) in \(milliseconds) ms, \(rate)/s; memory \(memory.now) MiB, peak \(memory.peak)"
    )
  }
}
