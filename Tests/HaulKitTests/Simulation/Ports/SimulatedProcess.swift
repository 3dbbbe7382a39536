import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// One run of a program: its own manager over a store, a disk and servers that outlive it.
final class SimulatedProcess: Sendable {
  let manager: TransferManager
  let clock: ManualClock
  let store: SimulatedStore
  let transport: SimulatedTransport
  let disk: SimulatedDisk
  let executor: SeededExecutor
  let random: SeededRandom
  private let tasks = NIOLockedValueBox<[Task<Void, Never>]>([])

  init(
    _ configuration: TransferManager.Configuration, seed: UInt64, memory: MemoryStore,
    machine: SimulatedMachine,
    servers: SimulatedTransport.Servers, executor: SeededExecutor, ledger: SharedLedger,
    wallStart: Double, portionSize: Int = QueueCoordinator.portionSize
  ) {
    self.executor = executor
    random = SeededRandom(seed: seed)
    clock = ManualClock(wallStart: wallStart)
    disk = machine.startProcess()
    store = SimulatedStore(over: memory, clock: clock, ledger: ledger, random: random)
    transport = SimulatedTransport(
      servers: servers, clock: clock, executor: executor, ledger: ledger, random: random)
    var hooks = Hooks()
    hooks.recovered = { [store, clock] id in
      if !store.isDead {
        ledger.withLockedValue { ledger in
          ledger.began(id)
          ledger.checkTime(id, clock)
        }
      }
    }
    let engine = Engine(
      transport: transport, disk: disk, io: .withoutThreads, clock: clock,
      configuration: configuration,
      seed: seed, hooks: hooks, soleExecutor: executor, network: transport.network,
      localSchedule: SimulatedSchedule.localSchedule(configuration.schedule))
    manager = TransferManager(engine: engine, store: store, portionSize: portionSize)
  }

  /// Whether the program has died, at any point.
  var isDead: Bool { store.isDead || !disk.isAlive }

  func start(_ work: @escaping @Sendable () async -> Void) {
    let task = Task(executorPreference: executor) { await work() }
    tasks.withLockedValue { $0.append(task) }
  }

  /// From now on, nothing that it does has an effect.
  func die() {
    store.die()
    transport.die()
    for task in tasks.withLockedValue({ $0 }) { task.cancel() }
  }

  /// Runs everything that can run without time passing; false if that does not end.
  func settle() -> Bool {
    var jobs = 0
    while executor.runOne() {
      jobs += 1
      if jobs > 100_000 { return false }
      if isDead, !store.isDead { die() }
    }
    return true
  }

  /// Lets all waits end; returns whether they did.
  func drain() -> Bool {
    let isOver = NIOLockedValueBox(false)
    start { [manager] in
      await manager.shutdown()
      isOver.withLockedValue { $0 = true }
    }
    for _ in 0..<10_000 {
      guard settle() else { return false }
      if isOver.withLockedValue({ $0 }), clock.sleeperCount == 0 { return true }
      guard clock.wakeNext(by: clock.now + .seconds(3600)) else { break }
    }
    return isOver.withLockedValue { $0 } && clock.sleeperCount == 0
  }
}
