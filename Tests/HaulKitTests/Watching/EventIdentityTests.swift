import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// What an event says about its transfer, and when it may come.
@Suite(.timeLimit(.minutes(1))) struct EventIdentityTests {
  private static func request(_ name: String) throws -> TransferRequest {
    var request = TransferRequest.download(
      try ResourceURL("http://host/\(name)"), to: .directory("/nowhere"))
    (request.identifier, request.group) = (name, "films")
    return request
  }

  @Test
  func `Every event has address, identifier and group, also for waiting and removed transfers`()
    async throws
  {
    let manager = try TransferManager()
    let events = manager.events()
    await manager.suspend()
    let first = try await manager.add(try Self.request("first"))
    var second = try Self.request("second")
    second.after = [.transfer(first.id)]
    let other = try await manager.add(second)
    var third = try Self.request("third")
    third.after = [.transfer(other.id)]
    let last = try await manager.add(third)
    #expect(other.identifier == "second" && other.group == "films")
    try await first.cancel()
    try await other.remove()
    try await first.remove()
    let names = [first.id: "first", other.id: "second", last.id: "third"]
    var kinds: Set<String> = []
    for await event in events {
      let name = names[event.id]
      #expect(event.url == (try ResourceURL("http://host/\(name ?? "")")), "\(event.kind)")
      #expect(event.identifier == name && event.group == "films", "\(event.kind)")
      kinds.insert("\(event.kind)".prefix { $0.isLetter }.description)
      if event.id == first.id, event.kind == .removed { break }
    }
    await manager.shutdown()
    #expect(kinds.isSuperset(of: ["added", "waiting", "finished", "removed"]), "\(kinds)")
  }

  @Test func `Rows have the identifier`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let list = await TransferList(manager)
    let added = try await manager.add(try Self.request("a"))
    try await until { await list[added.id]?.identifier == "a" }
    #expect(await list[added.id]?.group == "films")
    await manager.shutdown()
  }

  @Test func `A caller on one actor gets the handle before the first event`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let executor = HeldExecutor()
    let caller = Caller(executor)
    let events = manager.events()
    let reading = Task { await caller.read(events) }
    for number in 0..<20 {
      let request = try Self.request("\(number)")
      let adding = Task { try await caller.add(request, to: manager) }
      await executor.run(until: adding)
      try await adding.value
    }
    await manager.shutdown()
    await executor.run(until: reading)
    #expect(await reading.value == 0)
  }

  @Test func `A refused addition holds back no events of other transfers`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let transfer = try await manager.add(try Self.request("a"))
    let events = manager.events()
    var behind = try Self.request("b")
    behind.after = [.identifier("unknown")]
    await #expect(throws: TransferError.self) { try await manager.add(behind) }
    try await transfer.pause()
    for await event in events {
      #expect(event.id == transfer.id)
      break
    }
    await manager.shutdown()
  }
}

/// Runs jobs when the test says so, in their order of arrival.
private final class HeldExecutor: SerialExecutor {
  private let jobs = NIOLockedValueBox<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLockedValue { $0.append(job) }
  }

  /// Runs until the task has ended, with time for others between any two jobs.
  func run<Value: Sendable, Failure: Error>(until task: Task<Value, Failure>) async {
    let hasEnded = NIOLockedValueBox(false)
    Task {
      _ = await task.result
      hasEnded.withLockedValue { $0 = true }
    }
    while !hasEnded.withLockedValue({ $0 }) {
      for _ in 0..<10 { await Task.yield() }
      let job = jobs.withLockedValue { $0.isEmpty ? nil : $0.removeFirst() }
      job?.runSynchronously(on: asUnownedSerialExecutor())
    }
  }
}

private actor Caller {
  private let executor: HeldExecutor
  private var known: Set<TransferID> = []
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ executor: HeldExecutor) { self.executor = executor }

  func add(_ request: TransferRequest, to manager: TransferManager) async throws {
    known.insert(try await manager.add(request).id)
  }

  /// The number of events of unknown transfers.
  func read(_ events: TransferEvents) async -> Int {
    var strangers = 0
    for await event in events where !known.contains(event.id) { strangers += 1 }
    return strangers
  }
}
