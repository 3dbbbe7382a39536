import HaulCore
import NIOConcurrencyHelpers
import Testing

/// A decision also starts what has a slot, so that both are stored together.
@Suite struct QueueStartTests {
  private struct Slots: SharedScheduler {
    let scheduler: NIOLockedValueBox<Scheduler>

    init(active: Int) {
      var limits = Scheduler.Limits()
      (limits.active, limits.activePerHost) = (active, active)
      scheduler = NIOLockedValueBox(Scheduler(limits))
    }

    func update<Result>(_ body: (inout Scheduler) -> Result) -> Result {
      scheduler.withLockedValue(body)
    }

    func permission(_ pendingStarts: [TransferID] = []) -> StartPermission {
      StartPermission(
        scheduler: self, now: Instant(), isWithinSchedule: true, pendingStarts: pendingStarts,
        isDurable: true)
    }
  }

  private struct World {
    var queue = QueueMachine()
    let slots: Slots
    private var random = SplitMix64(seed: 3)

    init(active: Int) { slots = Slots(active: active) }

    /// Adds so many, and returns the decision; it is not applied.
    mutating func add(_ count: Int) throws -> QueueDecision {
      let additions = (0..<count).map { _ in
        QueueMachine.Addition(
          id: TransferID(using: &random), request: .step("work"), target: nil)
      }
      var decision = QueueDecision()
      try queue.decide(&decision, starting: slots.permission()) {
        (queue, decision) throws(TransferError) in try queue.add(additions, &decision)
      }
      return decision
    }
  }

  @Test func `New transfers with a slot are stored as running, and written once`() throws {
    var world = World(active: 2)
    let decision = try world.add(3)
    let ids = decision.added.map(\.id)
    #expect(decision.starts?.granted.map(\.id) == Array(ids.prefix(2)))
    #expect(decision.starts?.scheduled == ids)
    #expect(decision.added.map(\.storedState.wasRunning) == [true, true, false])
    #expect(decision.change.updated.isEmpty)
    world.queue.apply(decision)
    #expect(ids.map { world.queue.members.state(of: $0) } == [.running, .running, .queued])
  }

  @Test func `A decision that changes the order starts nothing`() throws {
    var world = World(active: 1)
    let added = try world.add(2)
    world.queue.apply(added)
    let ids = added.added.map(\.id)
    world.slots.update { _ = $0.finished(ids[0]) }
    var decision = QueueDecision()
    world.queue.decide(&decision, starting: world.slots.permission()) { (queue, decision) in
      _ = queue.handle(.start, [ids[1]], by: .user, &decision)
    }
    #expect(
      decision.effects.contains(.requestStart(ids[1], StartRequest(number: 1, isForced: false))))
    #expect(decision.starts == nil)
  }

  @Test func `A transfer whose start the store refused keeps its slot and starts later`() throws {
    var world = World(active: 1)
    var decision = QueueDecision()
    let refused = try world.add(1)
    let id = try #require(refused.added.first?.id)
    world.slots.update { _ = $0.release(id) }
    // It was stored without its start.
    try world.queue.decide(&decision) { (queue, decision) throws(TransferError) in
      try queue.add(
        [.init(id: id, request: .step("work"), target: nil)], &decision)
    }
    world.queue.apply(decision)
    decision = QueueDecision()
    world.queue.decide(&decision, starting: world.slots.permission([id])) { _, _ in }
    #expect(decision.starts?.granted.map(\.id) == [id])
    #expect(decision.change.updated.map(\.id) == [id])
  }

  @Test func `A run that asked for its slot again gets it; it is not started twice`() throws {
    var world = World(active: 1)
    let added = try world.add(1)
    world.queue.apply(added)
    let id = try #require(added.added.first?.id)
    world.slots.update { scheduler in
      scheduler.release(id)
      scheduler.add(id, host: nil)
    }
    var decision = QueueDecision()
    world.queue.decide(&decision, starting: world.slots.permission()) { _, _ in }
    #expect(decision.starts?.resumed == [id])
    #expect(decision.starts?.granted.isEmpty == true)
  }

  @Test func `A slot of a transfer that no longer needs one is free again`() throws {
    var world = World(active: 1)
    let added = try world.add(2)
    world.queue.apply(added)
    let ids = added.added.map(\.id)
    world.slots.update { _ = $0.release(ids[0]) }
    var decision = QueueDecision()
    world.queue.decide(&decision) { (queue, decision) in
      _ = queue.handle(.pause, [ids[1]], by: .user, &decision)
    }
    world.queue.apply(decision)
    decision = QueueDecision()
    world.queue.decide(&decision, starting: world.slots.permission()) { _, _ in }
    #expect(decision.starts?.granted.isEmpty == true)
    #expect(!world.slots.update { $0.isActive(ids[1]) })
  }
}
