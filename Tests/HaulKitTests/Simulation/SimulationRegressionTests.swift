import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Faults that the simulation of the queue found, step by step.
@Suite struct SimulationRegressionTests {
  @Test func `An end that the store refuses is stored and reported later, and nothing runs twice`()
    throws
  {
    let simulation = SimulatedManager()
    let request = simulation.step("s", turns: 3)
    let step = try simulation.call { try await $0.add(request) }
    var other = simulation.step("t", turns: 1)
    other.after = [step.id]
    let behind = other
    let next = try simulation.call { try await $0.add(behind) }
    simulation.refuseChanges(true)
    simulation.pass(.seconds(3))
    simulation.refuseChanges(false)
    try simulation.runOut()
    #expect(try simulation.state(step) == .completed)
    #expect(try simulation.state(next) == .completed, "it starts by itself")
    try simulation.end()
  }

  @Test func `Transfers about to start do not fail while the store refuses changes`() throws {
    let simulation = SimulatedManager()
    let requests = ["a", "b", "c", "d"].map { simulation.step($0, turns: 2) }
    let steps = try simulation.call { try await $0.add(requests) }
    simulation.refuseChanges(true)
    simulation.pass(.seconds(10))
    simulation.refuseChanges(false)
    try simulation.runOut()
    for step in steps { #expect(try simulation.state(step) == .completed) }
    try simulation.end()
  }

  @Test func `Waits return although the store refuses the change`() throws {
    let simulation = SimulatedManager()
    let request = simulation.step("a", turns: 1)
    simulation.process.store.behaviours.isSlow = true
    simulation.refuseChanges(true)
    let added = simulation.begin { try await $0.add(request) }
    let empty = simulation.begin { await $0.waitUntilEmpty() }
    simulation.pass(.seconds(5))
    #expect(added.withLockedValue { $0 } != nil)
    #expect(empty.withLockedValue { $0 } != nil)
    simulation.refuseChanges(false)
    simulation.process.store.behaviours.isSlow = false
    try simulation.end()
  }

  @Test func `Bytes of a restarted download are kept when the store refuses another change`() throws
  {
    let simulation = SimulatedManager()
    let request = try simulation.download("f", length: 400 << 10) {
      $0.destination = .file("\(QueueWorld.directory)/f")
      $0.createsDirectories = true
    }
    let transfer = try simulation.call { try await $0.add(request) }
    for _ in 0..<10_000 where simulation.received("f") < 8 << 10 {
      simulation.pass(.milliseconds(1))
    }
    simulation.send(.restart, transfer)
    // Stored: it runs, is stopped, runs again, and has started over.
    let stored = {
      simulation.ledger.withLockedValue { $0.trace.count { $0.contains("f=running") } }
    }
    for _ in 0..<1_000 where stored() < 4 { simulation.pass(.milliseconds(1)) }
    simulation.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try simulation.call { try await $0.setPriority(.utility, of: .all) }
    }
    simulation.refuseChanges(false)
    simulation.send(.pause, transfer)
    simulation.pass(.seconds(1))
    simulation.send(.resume, transfer)
    try simulation.runOut()
    #expect(try simulation.call { _ in try await transfer.result.reused } > 0)
    try simulation.end()
  }

  /// A step that is being stopped, which takes time.
  private func stopping(by order: TransferMachine.Command, in simulation: SimulatedManager) throws
    -> Transfer
  {
    let request = simulation.step("s", turns: 2, isPatient: true)
    let step = try simulation.call { try await $0.add(request) }
    simulation.send(order, step)
    for _ in 0..<100 where try simulation.state(step) == .running { simulation.pass(.zero) }
    return step
  }

  @Test func `A pause in progress takes effect although the store refuses another change`() throws {
    let simulation = SimulatedManager()
    let step = try stopping(by: .pause, in: simulation)
    simulation.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try simulation.call { try await $0.setPriority(.utility, of: .all) }
    }
    simulation.refuseChanges(false)
    simulation.pass(.seconds(3))
    #expect(try simulation.state(step) == .paused)
    #expect(simulation.ledger.withLockedValue { $0.log.last?.kind.word } == "paused")
    try simulation.end()
  }

  @Test func `A requeue in progress takes effect although the store refuses another change`() throws
  {
    let simulation = SimulatedManager()
    let step = try stopping(by: .requeue, in: simulation)
    simulation.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try simulation.call { try await $0.setPriority(.utility, of: .all) }
    }
    simulation.refuseChanges(false)
    try simulation.runOut()
    #expect(try simulation.state(step) == .completed)
    try simulation.end()
  }

  @Test func `A refused pause leaves a requeue in progress unchanged`() throws {
    let simulation = SimulatedManager()
    let step = try stopping(by: .requeue, in: simulation)
    simulation.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try simulation.call { try await $0.pause(.ids([step.id])) }
    }
    simulation.refuseChanges(false)
    try simulation.runOut()
    #expect(try simulation.state(step) == .completed)
    try simulation.end()
  }

  @Test func `A transfer that is being paused at shutdown is paused afterwards`() async throws {
    let simulation = SimulatedManager()
    _ = try stopping(by: .pause, in: simulation)
    try simulation.end()
    #expect(try await simulation.memory.open().members.map(\.storedState.status) == [.paused])
  }

  @Test func `A dependent retried together with its dependency is not skipped, in any list order`()
    throws
  {
    let simulation = SimulatedManager()
    let first = simulation.step("a", turns: 1)
    simulation.plans.withLockedValue { $0["a"]?.alwaysFails = true }
    let a = try simulation.call { try await $0.add(first) }
    var request = simulation.step("b", turns: 1)
    request.after = [a.id]
    request.whenDependencyFails = .skip
    let second = request
    let b = try simulation.call { try await $0.add(second) }
    simulation.ledger.withLockedValue { $0.moves = 1 }
    _ = try simulation.call { try await $0.move([b.id], to: .first) }
    try simulation.runOut()
    #expect(try simulation.state(b) == .failed)
    simulation.plans.withLockedValue { $0["a"]?.alwaysFails = false }
    simulation.send(.retry, b)
    simulation.pass(.zero)
    let number = simulation.ledger.withLockedValue { $0.sent(.retry, nil, nil, "retry all") }
    let report = try simulation.call { try await $0.retry(.all) }
    simulation.ledger.withLockedValue { $0.returned(number, refused: report.refused) }
    try simulation.runOut()
    #expect(try simulation.state(a) == .completed)
    #expect(try simulation.state(b) == .completed)
    try simulation.end()
  }

  @Test func `A cancelled restart still replaces its own file when it is retried`() throws {
    let simulation = SimulatedManager()
    let path = "\(QueueWorld.directory)/f"
    let request = try simulation.download("f", length: 400 << 10) {
      $0.destination = .file(path)
      $0.createsDirectories = true
    }
    let transfer = try simulation.call { try await $0.add(request) }
    try simulation.runOut()
    simulation.send(.restart, transfer)
    for _ in 0..<10_000 where simulation.received("f") < 8 << 10 {
      simulation.pass(.milliseconds(1))
    }
    simulation.send(.cancelKeepingBytes, transfer)
    try simulation.runOut()
    #expect(
      simulation.machine.names(in: QueueWorld.directory).count == 3, "the file, part and journal")
    simulation.send(.retry, transfer)
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    #expect(simulation.machine.names(in: QueueWorld.directory) == ["f"])
    try simulation.end()
  }

  @Test func `Concurrent additions with one key are one addition`() throws {
    let simulation = SimulatedManager()
    let request = simulation.step("s", turns: 1)
    simulation.process.store.behaviours.isSlow = true
    let calls = (0..<6).map { _ in simulation.begin { try await $0.add([request], key: "k") } }
    simulation.pass(.seconds(5))
    let ids = try calls.map { call in
      try #require(call.withLockedValue { $0 }).get().map(\.id)
    }
    #expect(Set(ids).count == 1)
    #expect(try simulation.call { await $0.summaries().count } == 1)
    try simulation.end()
  }

  @Test func `An answer used only for its file name releases its connection`() throws {
    let simulation = SimulatedManager(connections: 1)
    let request = try simulation.download("f", length: 400 << 10) { $0.usesSuggestedName = true }
    let transfer = try simulation.call { try await $0.add(request) }
    for _ in 0..<10_000 where simulation.received("f") < 8 << 10 {
      simulation.pass(.milliseconds(1))
    }
    #expect(simulation.received("f") > 0)
    simulation.send(.pause, transfer)
    for _ in 0..<10_000 where try simulation.state(transfer) != .paused {
      simulation.pass(.milliseconds(1))
    }
    simulation.send(.resume, transfer)
    for _ in 0..<10_000 where try simulation.state(transfer) == .paused {
      simulation.pass(.milliseconds(1))
    }
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `An answer that gives the file name is used although its host pauses meanwhile`()
    throws
  {
    let simulation = SimulatedManager(active: 2)
    let pausing = try simulation.download("a") { $0.retry.retries = 1 }
    simulation.servers["a"]?.pause = 5
    let named = try simulation.download("b") { $0.usesSuggestedName = true }
    let others = try ["c", "d"].map { name in
      try simulation.download(name) { $0.url = try ResourceURL("http://h1/\(name)") }
    }
    let transfers = try simulation.call { try await $0.add([pausing, named] + others) }
    try simulation.runOut()
    let trace = simulation.ledger.withLockedValue { $0.trace }
    #expect(trace.count { $0.hasSuffix("b 0-") } == 1, "a running transfer continues")
    for transfer in transfers { #expect(try simulation.state(transfer) == .completed) }
    try simulation.end()
  }

  @Test func `A useless answer is released before another transfer starts`() throws {
    let simulation = SimulatedManager()
    let requests = try (0..<4).map { number in
      try simulation.download("f\(number)") { $0.retry.retries = 8 }
    }
    simulation.servers.behaviours.faultOneIn = 2
    _ = try simulation.call { try await $0.add(requests) }
    simulation.pass(.seconds(20))
    simulation.servers.behaviours.faultOneIn = nil
    // A silent server gets several times the timeout.
    simulation.pass(.seconds(120))
    try simulation.runOut()
    try simulation.end()
  }

  /// A world whose server asks for a pause of these seconds, or is unavailable.
  private func refusing(_ pause: Int?) throws -> (SimulatedManager, TransferRequest) {
    let simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("f")
    simulation.servers["f"]?.pause = pause
    simulation.servers["f"]?.isUnavailable = pause == nil
    return (simulation, request)
  }

  @Test(arguments: [(pause: 5, "host-back-off"), (pause: nil, "retry")])
  func `A wait for the next attempt has its reason although the store refuses the time`(
    pause: Int?, code: String
  ) throws {
    let (simulation, request) = try refusing(pause)
    // The second change is the time of the next attempt.
    simulation.process.store.behaviours.changesUntilRefusal = 1
    let transfer = try simulation.call { try await $0.add(request) }
    let summary = try #require(try simulation.call { _ in await transfer.summary })
    #expect(summary.state == .queued)
    #expect(summary.waitReason?.code == code)
    simulation.servers["f"]?.isUnavailable = false
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test(arguments: [5, nil])
  func `A transfer that waits for its next attempt says why the last one failed`(
    pause: Int?
  ) throws {
    let (simulation, request) = try refusing(pause)
    let transfer = try simulation.call { try await $0.add(request) }
    func view() throws -> TransferView? {
      try simulation.call { try await $0.coordinator.views(of: [transfer.id]).first }
    }
    #expect(try view()?.snapshot.summary.waitReason != nil)
    #expect(try view()?.waitCause?.status == 503)
    simulation.servers["f"]?.isUnavailable = false
    try simulation.runOut()
    #expect(try view()?.row.state == .completed)
    #expect(try view()?.waitCause == nil)
    try simulation.end()
  }
}
