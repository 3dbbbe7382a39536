import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// One manager over simulated ports that a test controls, for step-by-step repetitions of what a
/// simulation found. The ledger watches it as it watches a world.
final class SimulatedManager {
  let ledger: SharedLedger
  let servers: SimulatedTransport.Servers
  let machine: SimulatedMachine
  let memory: MemoryStore
  let plans = NIOLockedValueBox<[String: QueueWorld.StepPlan]>([:])
  let process: SimulatedProcess

  init(
    active: Int = 1, connections: Int = 4, portionSize: Int = QueueCoordinator.portionSize,
    schedule: Schedule? = nil, rateLimit: Int64? = nil, memory: MemoryStore = MemoryStore(),
    machine: SimulatedMachine = SimulatedMachine(seed: 1),
    servers: SimulatedTransport.Servers = SimulatedTransport.Servers()
  ) {
    self.memory = memory
    self.machine = machine
    self.servers = servers
    var limits = Ledger.Limits()
    (limits.active, limits.activePerHost) = (active, active)
    (limits.connectionsPerHost, limits.connections) = (connections, connections)
    (limits.formerActive, limits.formerPerHost) = (active, active)
    let ledger = SharedLedger(Ledger(limits))
    if schedule != nil {
      ledger.withLockedValue { $0.schedule = SimulatedSchedule(isWatched: false) }
    }
    self.ledger = ledger
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = active
    configuration.maximumActivePerHost = active
    configuration.schedule = schedule
    configuration.rateLimit = rateLimit
    configuration.connectionsPerHost = connections
    configuration.maximumConnections = connections
    process = SimulatedProcess(
      configuration, seed: 1, memory: memory, machine: machine, servers: servers,
      executor: SeededExecutor(seed: 1), ledger: ledger, wallStart: QueueWorld.wallStart,
      portionSize: portionSize)
    let (process, plans) = (process, plans)
    process.start {
      process.manager.register(step: "work") { context in
        try await QueueWorld.work(context, process, ledger, plans)
      }
    }
    pass(.zero)
  }

  /// Kills the process. The next one has not yet opened the list; its wall clock continues.
  func kill() -> SimulatedManager {
    ledger.withLockedValue { $0.crashed("kill") }
    process.die()
    machine.killProcesses()
    machine.crash(afterChanges: nil)
    #expect(process.drain())
    let next = next()
    next.process.clock.adjustWallClock(
      by: process.clock.wallSeconds - next.process.clock.wallSeconds)
    return next
  }

  /// The next process on this machine, which has not yet opened the list.
  func next() -> SimulatedManager {
    let next = SimulatedManager(memory: memory, machine: machine, servers: servers)
    let old = ledger.withLockedValue { $0 }
    next.ledger.withLockedValue { ledger in
      (ledger.members, ledger.names, ledger.history) = (old.members, old.names, old.history)
      (ledger.log, ledger.changes) = (old.log, old.changes)
      ledger.storedPauses = old.storedPauses
    }
    return next
  }

  /// Runs everything that can run while so much time passes.
  func pass(_ time: Duration) {
    let end = process.clock.now + time
    repeat { _ = process.settle() } while process.clock.wakeNext(by: end)
  }

  /// Begins a call and does not wait for it.
  @discardableResult
  func begin<Value: Sendable>(
    _ work: @escaping @Sendable (TransferManager) async throws -> Value
  ) -> NIOLockedValueBox<Result<Value, any Error>?> {
    let result = NIOLockedValueBox<Result<Value, any Error>?>(nil)
    let manager = process.manager
    process.start {
      do {
        let value = try await work(manager)
        result.withLockedValue { $0 = .success(value) }
      } catch {
        result.withLockedValue { $0 = .failure(error) }
      }
    }
    return result
  }

  /// Makes a call and waits until it has returned.
  func call<Value: Sendable>(
    _ work: @escaping @Sendable (TransferManager) async throws -> Value
  ) throws -> Value {
    let result = begin(work)
    // A call that needs no time takes none.
    pass(.zero)
    for _ in 0..<600 {
      if let value = result.withLockedValue({ $0 }) { return try value.get() }
      pass(.milliseconds(100))
    }
    return try #require(result.withLockedValue { $0 }, "it does not return").get()
  }

  /// Sends a command, records it in the ledger, and does not wait for it.
  func send(_ command: TransferMachine.Command, _ transfer: Transfer) {
    let number = ledger.withLockedValue { $0.sent(command, [transfer.id], nil, "\(command)") }
    let ledger = ledger
    begin { manager in
      do throws(TransferError) {
        let report = try await manager.carryOut(command, .ids([transfer.id]))
        ledger.withLockedValue { $0.returned(number, refused: report.refused) }
      } catch {
        ledger.withLockedValue { $0.threw(number, error) }
      }
    }
  }

  /// Runs until nothing runs or can start. Pending commands are decided first.
  func runOut() throws {
    pass(.zero)
    try call { await $0.waitUntilEmpty() }
  }

  func refuseChanges(_ refuses: Bool) { process.store.behaviours.refusesOneIn = refuses ? 1 : nil }

  func step(_ name: String, turns: Int, isPatient: Bool = false) -> TransferRequest {
    plans.withLockedValue {
      $0[name] = QueueWorld.StepPlan(turns: turns, isPatient: isPatient)
    }
    return .step("work", input: name)
  }

  func download(
    _ name: String, length: Int64 = 40 << 10,
    _ change: (inout DownloadRequest) throws -> Void = { _ in }
  ) throws -> TransferRequest {
    servers[name] = SimulatedTransport.Resource(
      content: SeededContent(seed: 7), length: length)
    var download = DownloadRequest(
      url: try ResourceURL("http://h0/\(name)"), to: .directory(QueueWorld.directory))
    download.connections = 1
    try change(&download)
    return TransferRequest(.download(download))
  }

  /// The bytes of an incomplete file.
  func received(_ name: String) -> Int {
    machine.contents(of: "\(name).haul.part", in: QueueWorld.directory)?.count ?? 0
  }

  func state(_ transfer: Transfer) throws -> TransferState? {
    try call { _ in await transfer.summary?.state }
  }

  /// Ends the manager, and checks that there were no violations.
  func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
    ledger.withLockedValue { $0.isClosing = true }
    try call { await $0.shutdown() }
    let (violations, trace) = ledger.withLockedValue { ($0.violations, $0.trace) }
    #expect(
      violations.isEmpty, "\(trace.joined(separator: "\n"))", sourceLocation: sourceLocation)
  }
}
