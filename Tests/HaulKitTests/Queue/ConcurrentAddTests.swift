import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Calls of `add` while another one is being stored.
@Suite(.timeLimit(.minutes(10))) struct ConcurrentAddTests {
  private typealias Outcomes = NIOLockedValueBox<[String: Result<TransferID, TransferError>]>

  /// Begins them one after the other, without waiting, and lets all of them finish.
  private func add(_ requests: [TransferRequest], _ simulation: SimulatedManager) -> Outcomes {
    let outcomes = Outcomes([:])
    for request in requests {
      simulation.begin { manager in
        let name = request.identifier ?? ""
        do throws(TransferError) {
          let id = try await manager.add(request).id
          outcomes.withLockedValue { $0[name] = .success(id) }
        } catch {
          outcomes.withLockedValue { $0[name] = .failure(error) }
        }
      }
    }
    simulation.pass(.seconds(5))
    return outcomes
  }

  private func requests(_ simulation: SimulatedManager, _ count: Int) -> [TransferRequest] {
    (0..<count).map { number in
      var request = simulation.step("s\(number)", turns: 1)
      request.identifier = "\(number)"
      return request
    }
  }

  @Test func `Concurrent additions are stored in one change`() throws {
    let simulation = SimulatedManager()
    try simulation.call { await $0.suspend() }
    simulation.process.store.behaviours.isSlow = true
    let before = simulation.process.store.counts.commits
    let outcomes = add(requests(simulation, 50), simulation)
    let ids = try outcomes.withLockedValue { try $0.mapValues { try $0.get() } }
    #expect(ids.count == 50 && Set(ids.values).count == 50)
    #expect(simulation.process.store.counts.commits - before == 2, "the first, and all the others")
    for (name, id) in ids {
      #expect(try simulation.call { try? await $0.transfer(identifier: name)?.id } == id)
    }
    try simulation.call { await $0.unsuspend() }
    try simulation.runOut()
    try simulation.end()
  }

  @Test func `A refused addition does not affect the others`() throws {
    let simulation = SimulatedManager()
    try simulation.call { await $0.suspend() }
    simulation.process.store.behaviours.isSlow = true
    var requests = requests(simulation, 10)
    requests[7].after = ["unknown"]
    let outcomes = add(requests, simulation).withLockedValue { $0 }
    for (name, outcome) in outcomes {
      switch outcome {
      case .success: #expect(name != "7")
      case .failure(let error): #expect(name == "7" && error.code == .dependencyFailed)
      }
    }
    #expect(outcomes.count == 10)
    try simulation.call { await $0.unsuspend() }
    try simulation.runOut()
    try simulation.end()
  }

  @Test func `Concurrent additions with one identifier return the same transfer`() throws {
    let simulation = SimulatedManager()
    try simulation.call { await $0.suspend() }
    simulation.process.store.behaviours.isSlow = true
    let found = NIOLockedValueBox<[TransferID]>([])
    let request = requests(simulation, 1)[0]
    for _ in 0..<5 {
      simulation.begin { manager in
        guard let id = try? await manager.add(request).id else { return }
        found.withLockedValue { $0.append(id) }
      }
    }
    simulation.pass(.seconds(5))
    #expect(found.withLockedValue { $0.count } == 5)
    #expect(found.withLockedValue { Set($0).count } == 1)
    try simulation.call { await $0.unsuspend() }
    try simulation.runOut()
    try simulation.end()
  }
}
