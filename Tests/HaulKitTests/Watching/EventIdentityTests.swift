import Dispatch
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// What an event says about its transfer, and when it may come.
@Suite(.timeLimit(.minutes(10))) struct EventIdentityTests {
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
    second.after = [first.id]
    let other = try await manager.add(second)
    var third = try Self.request("third")
    third.after = [other.id]
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

  /// Adds a transfer, and then stands still before it gets the handle.
  private actor LateCaller {
    private final class Executor: SerialExecutor {
      let queue = DispatchQueue(label: "late caller")

      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
      }
    }

    private let executor = Executor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func add(_ request: TransferRequest, to manager: TransferManager) async throws -> Transfer {
      executor.queue.suspend()
      return try await manager.add(request)
    }

    nonisolated func resume() { executor.queue.resume() }
  }

  @Test func `No event comes before the caller has the handle`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let received = NIOLockedValueBox<[TransferID]>([])
    let events = manager.events()
    let reader = Task {
      for await event in events {
        received.withLockedValue { $0.append(event.id) }
        break
      }
    }
    let caller = LateCaller()
    let adding = Task { try await caller.add(try Self.request("a"), to: manager) }
    try await until { await manager.counts[.queued] == 1 }
    // All that was ready before has run after a few turns: also the reader, if it had an event.
    for _ in 0..<100 { await Task.yield() }
    #expect(received.withLockedValue { $0 } == [])
    caller.resume()
    let transfer = try await adding.value
    await reader.value
    #expect(received.withLockedValue { $0 } == [transfer.id])
    await manager.shutdown()
  }

  @Test func `A refused addition holds back no events of other transfers`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let transfer = try await manager.add(try Self.request("a"))
    let events = manager.events()
    var behind = try Self.request("b")
    behind.after = ["unknown"]
    await #expect(throws: TransferError.self) { try await manager.add(behind) }
    try await transfer.pause()
    for await event in events {
      #expect(event.id == transfer.id)
      break
    }
    await manager.shutdown()
  }
}
