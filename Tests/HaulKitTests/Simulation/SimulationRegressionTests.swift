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
    let scene = SimulatedManager()
    let request = scene.step("s", turns: 3)
    let step = try scene.call { try await $0.add(request) }
    var other = scene.step("t", turns: 1)
    other.after = [.transfer(step.id)]
    let behind = other
    let next = try scene.call { try await $0.add(behind) }
    scene.refuseChanges(true)
    scene.pass(.seconds(3))
    scene.refuseChanges(false)
    try scene.runOut()
    #expect(try scene.state(step) == .completed)
    #expect(try scene.state(next) == .completed, "it starts by itself")
    try scene.end()
  }

  @Test func `Transfers about to start do not fail while the store refuses changes`() throws {
    let scene = SimulatedManager()
    let requests = ["a", "b", "c", "d"].map { scene.step($0, turns: 2) }
    let steps = try scene.call { try await $0.add(requests) }
    scene.refuseChanges(true)
    scene.pass(.seconds(10))
    scene.refuseChanges(false)
    try scene.runOut()
    for step in steps { #expect(try scene.state(step) == .completed) }
    try scene.end()
  }

  @Test func `Waits return although the store refuses the change`() throws {
    let scene = SimulatedManager()
    let request = scene.step("a", turns: 1)
    scene.process.store.behaviours.isSlow = true
    scene.refuseChanges(true)
    let added = scene.begin { try await $0.add(request) }
    let empty = scene.begin { await $0.waitUntilEmpty() }
    scene.pass(.seconds(5))
    #expect(added.withLockedValue { $0 } != nil)
    #expect(empty.withLockedValue { $0 } != nil)
    scene.refuseChanges(false)
    scene.process.store.behaviours.isSlow = false
    try scene.end()
  }

  @Test func `Bytes of a restarted download are kept when the store refuses another change`() throws
  {
    let scene = SimulatedManager()
    let request = try scene.download("f", length: 400 << 10) {
      $0.destination = .file("\(QueueWorld.directory)/f")
      $0.createsDirectories = true
    }
    let transfer = try scene.call { try await $0.add(request) }
    for _ in 0..<10_000 where scene.received("f") < 8 << 10 { scene.pass(.milliseconds(1)) }
    scene.send(.restart, transfer)
    // Stored: it runs, is stopped, runs again, and has started over.
    let stored = { scene.ledger.withLockedValue { $0.trace.count { $0.contains("f=running") } } }
    for _ in 0..<1_000 where stored() < 4 { scene.pass(.milliseconds(1)) }
    scene.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try scene.call { try await $0.setPriority(.utility, of: .all) }
    }
    scene.refuseChanges(false)
    scene.send(.pause, transfer)
    scene.pass(.seconds(1))
    scene.send(.resume, transfer)
    try scene.runOut()
    #expect(try scene.call { _ in try await transfer.result.reused } > 0)
    try scene.end()
  }

  /// A step that is being stopped, which takes time.
  private func stopping(by order: TransferMachine.Command, in scene: SimulatedManager) throws
    -> Transfer
  {
    let request = scene.step("s", turns: 2, isPatient: true)
    let step = try scene.call { try await $0.add(request) }
    scene.send(order, step)
    for _ in 0..<100 where try scene.state(step) == .running { scene.pass(.zero) }
    return step
  }

  @Test func `A pause in progress takes effect although the store refuses another change`() throws {
    let scene = SimulatedManager()
    let step = try stopping(by: .pause, in: scene)
    scene.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try scene.call { try await $0.setPriority(.utility, of: .all) }
    }
    scene.refuseChanges(false)
    scene.pass(.seconds(3))
    #expect(try scene.state(step) == .paused)
    #expect(scene.ledger.withLockedValue { $0.log.last?.kind.word } == "paused")
    try scene.end()
  }

  @Test func `A requeue in progress takes effect although the store refuses another change`() throws
  {
    let scene = SimulatedManager()
    let step = try stopping(by: .requeue, in: scene)
    scene.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try scene.call { try await $0.setPriority(.utility, of: .all) }
    }
    scene.refuseChanges(false)
    try scene.runOut()
    #expect(try scene.state(step) == .completed)
    try scene.end()
  }

  @Test func `A refused pause leaves a requeue in progress unchanged`() throws {
    let scene = SimulatedManager()
    let step = try stopping(by: .requeue, in: scene)
    scene.refuseChanges(true)
    #expect(throws: TransferError.self) {
      _ = try scene.call { try await $0.pause(.ids([step.id])) }
    }
    scene.refuseChanges(false)
    try scene.runOut()
    #expect(try scene.state(step) == .completed)
    try scene.end()
  }

  @Test func `A transfer that is being paused at shutdown is paused afterwards`() async throws {
    let scene = SimulatedManager()
    _ = try stopping(by: .pause, in: scene)
    try scene.end()
    #expect(try await scene.memory.open().members.map(\.storedState.status) == [.paused])
  }

  @Test func `A dependent retried together with its dependency is not skipped, in any list order`()
    throws
  {
    let scene = SimulatedManager()
    let first = scene.step("a", turns: 1)
    scene.plans.withLockedValue { $0["a"]?.alwaysFails = true }
    let a = try scene.call { try await $0.add(first) }
    var request = scene.step("b", turns: 1)
    request.after = [.transfer(a.id)]
    request.whenDependencyFails = .skip
    let second = request
    let b = try scene.call { try await $0.add(second) }
    scene.ledger.withLockedValue { $0.moves = 1 }
    _ = try scene.call { try await $0.move([b.id], to: .first) }
    try scene.runOut()
    #expect(try scene.state(b) == .failed)
    scene.plans.withLockedValue { $0["a"]?.alwaysFails = false }
    scene.send(.retry, b)
    scene.pass(.zero)
    let number = scene.ledger.withLockedValue { $0.sent(.retry, nil, nil, "retry all") }
    let report = try scene.call { try await $0.retry(.all) }
    scene.ledger.withLockedValue { $0.returned(number, refused: report.refused) }
    try scene.runOut()
    #expect(try scene.state(a) == .completed)
    #expect(try scene.state(b) == .completed)
    try scene.end()
  }

  @Test func `A cancelled restart still replaces its own file when it is retried`() throws {
    let scene = SimulatedManager()
    let path = "\(QueueWorld.directory)/f"
    let request = try scene.download("f", length: 400 << 10) {
      $0.destination = .file(path)
      $0.createsDirectories = true
    }
    let transfer = try scene.call { try await $0.add(request) }
    try scene.runOut()
    scene.send(.restart, transfer)
    for _ in 0..<10_000 where scene.received("f") < 8 << 10 { scene.pass(.milliseconds(1)) }
    scene.send(.cancelKeepingBytes, transfer)
    try scene.runOut()
    #expect(scene.machine.names(in: QueueWorld.directory).count == 3, "the file, part and journal")
    scene.send(.retry, transfer)
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    #expect(scene.machine.names(in: QueueWorld.directory) == ["f"])
    try scene.end()
  }

  @Test func `Concurrent additions with one key are one addition`() throws {
    let scene = SimulatedManager()
    let request = scene.step("s", turns: 1)
    scene.process.store.behaviours.isSlow = true
    let calls = (0..<6).map { _ in scene.begin { try await $0.add([request], key: "k") } }
    scene.pass(.seconds(5))
    let ids = try calls.map { call in
      try #require(call.withLockedValue { $0 }).get().map(\.id)
    }
    #expect(Set(ids).count == 1)
    #expect(try scene.call { await $0.summaries().count } == 1)
    try scene.end()
  }

  @Test func `An answer used only for its file name releases its connection`() throws {
    let scene = SimulatedManager(connections: 1)
    let request = try scene.download("f", length: 400 << 10) { $0.usesSuggestedName = true }
    let transfer = try scene.call { try await $0.add(request) }
    for _ in 0..<10_000 where scene.received("f") < 8 << 10 { scene.pass(.milliseconds(1)) }
    #expect(scene.received("f") > 0)
    scene.send(.pause, transfer)
    for _ in 0..<10_000 where try scene.state(transfer) != .paused { scene.pass(.milliseconds(1)) }
    scene.send(.resume, transfer)
    for _ in 0..<10_000 where try scene.state(transfer) == .paused { scene.pass(.milliseconds(1)) }
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `An answer that gives the file name is used although its host pauses meanwhile`()
    throws
  {
    let scene = SimulatedManager(active: 2)
    let pausing = try scene.download("a") { $0.retry.retries = 1 }
    scene.servers["a"]?.pause = 5
    let named = try scene.download("b") { $0.usesSuggestedName = true }
    let others = try ["c", "d"].map { name in
      try scene.download(name) { $0.url = try ResourceURL("http://h1/\(name)") }
    }
    let transfers = try scene.call { try await $0.add([pausing, named] + others) }
    try scene.runOut()
    let trace = scene.ledger.withLockedValue { $0.trace }
    #expect(trace.count { $0.hasSuffix("b 0-") } == 1, "a running transfer continues")
    for transfer in transfers { #expect(try scene.state(transfer) == .completed) }
    try scene.end()
  }

  @Test func `A useless answer is released before another transfer starts`() throws {
    let scene = SimulatedManager()
    let requests = try (0..<4).map { number in
      try scene.download("f\(number)") { $0.retry.retries = 8 }
    }
    scene.servers.behaviours.faultOneIn = 2
    _ = try scene.call { try await $0.add(requests) }
    scene.pass(.seconds(20))
    scene.servers.behaviours.faultOneIn = nil
    try scene.runOut()
    try scene.end()
  }

  @Test func `A wait for the next attempt has its reason although the store refuses the time`()
    throws
  {
    let scene = SimulatedManager()
    scene.servers.behaviours.pauses = false
    let request = try scene.download("f")
    scene.servers["f"]?.pause = 5
    // The second change is the time of the next attempt.
    scene.process.store.behaviours.changesUntilRefusal = 1
    let transfer = try scene.call { try await $0.add(request) }
    let summary = try #require(try scene.call { _ in await transfer.summary })
    #expect(summary.state == .queued)
    #expect(summary.waitReason?.code == "host-back-off")
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }
}
