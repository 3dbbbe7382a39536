import HaulCore
import HaulKit
import NIOConcurrencyHelpers
import Testing

/// An outage of a host during a list of downloads, in simulated time.
@Suite struct HostOutageTests {
  @Test(arguments: [5, 15, 60])
  func `A temporary outage of a host fails none of 60 downloads`(seconds: Int) throws {
    let simulation = SimulatedManager(active: 4)
    let requests = try (0..<60).map { try simulation.download("f\($0)") }
    _ = try simulation.call { try await $0.add(requests) }
    for _ in 0..<10_000 where simulation.asked < 5 { simulation.pass(.milliseconds(1)) }
    try outage(of: simulation, seconds)
  }

  @Test(arguments: [5, 60])
  func `A list added during an outage completes when the host returns`(seconds: Int) throws {
    let simulation = SimulatedManager(active: 4)
    simulation.servers.behaviours.unreachableHost = "h0"
    let requests = try (0..<60).map { try simulation.download("f\($0)") }
    _ = try simulation.call { try await $0.add(requests) }
    try outage(of: simulation, seconds)
  }

  @Test func `An outage does not affect other ports and other hosts`() throws {
    let simulation = SimulatedManager(active: 4)
    simulation.servers.behaviours.unreachableHost = "h0"
    let away = try (0..<20).map { try simulation.download("f\($0)") }
    let others = try ["h1", "h2:81"].enumerated().map { number, host in
      try simulation.download("g\(number)") {
        $0.url = try ResourceURL("http://\(host)/g\(number)")
      }
    }
    let transfers = try simulation.call { try await $0.add(away + others) }
    simulation.pass(.seconds(5))
    for transfer in transfers.suffix(2) { #expect(try simulation.state(transfer) == .completed) }
    simulation.servers.behaviours.unreachableHost = nil
    try simulation.runOut()
    for transfer in transfers { #expect(try simulation.state(transfer) == .completed) }
    try simulation.end()
  }

  @Test func `A server that needs minutes to its first byte gives the file in the end`() throws {
    let simulation = SimulatedManager()
    let request = try simulation.download("f")
    simulation.servers["f"]?.preparation = .seconds(200)
    let transfer = try simulation.call { try await $0.add(request) }
    simulation.pass(.seconds(600))
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A permanent outage fails each transfer after its own retries`() throws {
    let simulation = SimulatedManager(active: 2)
    simulation.servers.behaviours.unreachableHost = "h0"
    let requests = try (0..<3).map { try simulation.download("f\($0)") { $0.retry.retries = 2 } }
    let transfers = try simulation.call { try await $0.add(requests) }
    simulation.pass(.seconds(600))
    for transfer in transfers {
      #expect(try simulation.state(transfer) == .failed)
      let error = #expect(throws: TransferError.self) {
        _ = try simulation.call { _ in try await transfer.result }
      }
      #expect(error?.code == .connect)
      #expect(error?.message == "refused after 3 attempts")
    }
    #expect(simulation.asked == 10, "nine attempts, and one that started with the first")
    try simulation.end()
  }

  /// The host is away for so long; it is asked seldom, by one at a time, and then all complete.
  private func outage(of simulation: SimulatedManager, _ seconds: Int) throws {
    let before = simulation.asked
    simulation.servers.behaviours.unreachableHost = "h0"
    simulation.pass(.seconds(seconds))
    // Four were in progress; then at most one after a quarter of a second, a half, one second, and
    // so on.
    #expect(simulation.asked - before < 20)
    simulation.servers.behaviours.unreachableHost = nil
    try simulation.runOut()
    let states = try simulation.call { await $0.summaries().map(\.state) }
    #expect(states == Array(repeating: .completed, count: 60))
    try simulation.end()
  }
}

extension SimulatedManager {
  /// The number of requests that were sent.
  var asked: Int { ledger.withLockedValue { $0.trace.count { $0.contains("asks ") } } }
}
