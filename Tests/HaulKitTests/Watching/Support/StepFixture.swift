import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import Testing

/// A manager without a network, whose members are steps: it has only state changes.
struct StepFixture: Sendable {
  let manager: TransferManager
  let gate: StepGate

  /// Runs `body` with a manager, which is shut down afterwards. `pass` is a step that ends at once,
  /// `gate` one that waits in the gate, `spin` one that runs until it is stopped.
  static func with(
    kept: Int = 10_000, active: Int = 8, clock: any TransferClock = SystemClock(),
    store: any Store = MemoryStore(), gate: StepGate = StepGate(),
    programs: (any Programs)? = nil,
    register: (TransferManager) async -> Void = { _ in },
    _ body: (StepFixture) async throws -> Void
  ) async throws {
    var configuration = TransferManager.Configuration()
    configuration.eventLogLimit = kept
    configuration.maximumActive = active
    let engine = Engine(
      transport: NoNetwork(), disk: POSIXDisk(), io: BlockingIO(), clock: clock,
      configuration: configuration, programs: programs)
    let manager = TransferManager(engine: engine, store: store)
    manager.register(step: "pass") { _ in }
    manager.register(step: "gate", gate.step)
    manager.register(step: "spin", gate.spin())
    await register(manager)
    do {
      try await manager.coordinator.open()
      try await body(StepFixture(manager: manager, gate: gate))
    } catch {
      gate.open()
      await manager.shutdown()
      throw error
    }
    gate.open()
    await manager.shutdown()
  }

  /// Adds so many steps with that name and returns when they have ended.
  @discardableResult
  func run(_ count: Int, _ name: String = "pass") async throws -> [Transfer] {
    let added = try await manager.add((0..<count).map { .step(name, input: "\($0)") })
    await manager.waitUntilEmpty()
    return added
  }

  private struct NoNetwork: Transport {
    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      throw TransferError(.connect, "there is no network")
    }
  }
}

/// Reads events until `count` of them are state changes; fewer if the stream ends before.
func stateChanges(_ count: Int, of events: TransferEvents) async -> [TransferEvent] {
  var reported: [TransferEvent] = []
  guard count > 0 else { return reported }
  for await event in events where event.number != nil {
    reported.append(event)
    if reported.count == count { break }
  }
  return reported
}

/// Like `stateChanges`, for a list; a reset counts too.
func stateChanges(_ count: Int, of events: QueueEvents) async -> [QueueEvent] {
  var reported: [QueueEvent] = []
  guard count > 0 else { return reported }
  for await event in events where event.isStateChange {
    reported.append(event)
    if reported.count == count { break }
  }
  return reported
}

extension QueueEvent {
  var isStateChange: Bool { number != nil || snapshot != nil }

  /// The number of a state change.
  var number: Int? { if case .transfer(let event) = self { event.number } else { nil } }

  /// The snapshot of a reset.
  var snapshot: QueueSnapshot? { if case .reset(let snapshot) = self { snapshot } else { nil } }
}
