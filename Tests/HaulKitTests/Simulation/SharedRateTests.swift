import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// One rate limit for all downloads of a manager, with a clock that only the test moves.
@Suite struct SharedRateTests {
  private static let rate: Int64 = 64 << 10

  /// The last reported bytes of each transfer.
  private func progress(_ simulation: SimulatedManager) -> NIOLockedValueBox<[TransferID: Int64]> {
    let reported = NIOLockedValueBox<[TransferID: Int64]>([:])
    let events = simulation.process.manager.events()
    simulation.process.start {
      for await event in events {
        guard case .progress(let progress) = event.kind else { continue }
        reported.withLockedValue { $0[event.id] = progress.bytes }
      }
    }
    return reported
  }

  @Test func `Running transfers share the manager's rate limit by priority weights`() throws {
    let simulation = SimulatedManager(active: 2, rateLimit: Self.rate)
    // The network is always faster than the limit.
    simulation.servers.behaviours.pauses = false
    let priorities: [TransferRequest.Priority] = [.utility, .userInitiated]
    let requests = try priorities.map { priority in
      var request = try simulation.download("\(priority)", length: 8 << 20)
      request.priority = priority
      return request
    }
    let reported = progress(simulation)
    let transfers = try simulation.call { try await $0.add(requests) }
    simulation.pass(.seconds(1))
    let before = reported.withLockedValue { $0 }
    simulation.pass(.seconds(60))
    let after = reported.withLockedValue { $0 }
    let weights = priorities.reduce(0) { $0 + $1.weight }
    for (transfer, priority) in zip(transfers, priorities) {
      let bytes = try #require(after[transfer.id]) - (before[transfer.id] ?? 0)
      let wanted = Double(Self.rate) * 60 * Double(priority.weight) / Double(weights)
      #expect(abs(Double(bytes) / wanted - 1) <= 0.05, "\(priority): \(bytes) of \(wanted)")
      #expect(try simulation.state(transfer) == .running)
    }
    try simulation.end()
  }

  @Test func `The rate of a window begins and ends with it, and lowers that of the manager`() throws
  {
    // The simulated week begins on a Saturday at 00:00.
    let schedule = Schedule(
      [
        .init([.saturday], from: 0, to: 600),
        .init([.saturday], from: 1, to: 2, rateLimit: Self.rate),
      ],
      timeZone: "UTC")
    let simulation = SimulatedManager(schedule: schedule, rateLimit: 4 * Self.rate)
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("a", length: 64 << 20)
    let reported = progress(simulation)
    let transfer = try simulation.call { try await $0.add(request) }
    var last: Int64 = 0
    for (seconds, rate) in [(58, 4), (4, nil), (54, 1), (8, nil), (30, 4)] as [(Int64, Int64?)] {
      simulation.pass(.seconds(seconds))
      let bytes = reported.withLockedValue { $0[transfer.id] ?? 0 }
      if let rate {
        let wanted = Double(rate * Self.rate * seconds)
        #expect(abs(Double(bytes - last) / wanted - 1) <= 0.05, "\(bytes - last) of \(wanted)")
      }
      last = bytes
    }
    #expect(try simulation.call { $0.configuration }.rateLimit == 4 * Self.rate)
    try simulation.end()
  }

  @Test func `Changing the priority of a running transfer changes its share of the limit`() throws {
    let simulation = SimulatedManager(active: 2, rateLimit: Self.rate)
    simulation.servers.behaviours.pauses = false
    let requests = try ["a", "b"].map { try simulation.download($0, length: 8 << 20) }
    let reported = progress(simulation)
    let transfers = try simulation.call { try await $0.add(requests) }
    simulation.pass(.seconds(30))
    let first = transfers[0].id
    _ = try simulation.call { try await $0.setPriority(.background, of: .ids([first])) }
    simulation.pass(.seconds(1))
    let before = reported.withLockedValue { $0 }
    simulation.pass(.seconds(60))
    let after = reported.withLockedValue { $0 }
    let bytes = try transfers.map { transfer in
      try #require(after[transfer.id]) - (before[transfer.id] ?? 0)
    }
    let wanted =
      Double(TransferRequest.Priority.default.weight)
      / Double(TransferRequest.Priority.background.weight)
    #expect(abs(Double(bytes[1]) / Double(bytes[0]) / wanted - 1) <= 0.05, "\(bytes)")
    try simulation.end()
  }

  /// The bytes of each transfer in the next minute.
  private func bytesInAMinute(
    _ simulation: SimulatedManager, _ reported: NIOLockedValueBox<[TransferID: Int64]>,
    _ transfers: [Transfer]
  ) -> [Double] {
    simulation.pass(.seconds(1))
    let before = reported.withLockedValue { $0 }
    simulation.pass(.seconds(60))
    let after = reported.withLockedValue { $0 }
    return transfers.map { Double((after[$0.id] ?? 0) - (before[$0.id] ?? 0)) }
  }

  @Test func `A transfer keeps its own limit, and the others get what it leaves`() throws {
    let simulation = SimulatedManager(active: 2, rateLimit: Self.rate)
    simulation.servers.behaviours.pauses = false
    let slow = try simulation.download("slow", length: 8 << 20) {
      ($0.rateLimit, $0.connections, $0.minimumSplit) = (Self.rate / 4, 4, 1 << 10)
    }
    let requests = [slow, try simulation.download("fast", length: 16 << 20)]
    let reported = progress(simulation)
    let transfers = try simulation.call { try await $0.add(requests) }
    let bytes = bytesInAMinute(simulation, reported, transfers)
    let most = Double(Self.rate) * 60
    #expect(abs(bytes[0] / (most / 4) - 1) <= 0.05, "\(bytes)")
    #expect(abs(bytes[1] / (most * 3 / 4) - 1) <= 0.05, "\(bytes)")
    try simulation.end()
  }

  @Test(arguments: [true, false])
  func `A download that its limit slows down asks for every byte once`(isOwn: Bool) throws {
    let scene = SimulatedManager(rateLimit: isOwn ? nil : Self.rate)
    scene.servers.behaviours.pauses = false
    let request = try scene.download("f", length: 2 << 20) {
      ($0.rateLimit, $0.connections, $0.minimumSplit) = (isOwn ? Self.rate : nil, 4, 1 << 10)
    }
    let transfer = try scene.call { try await $0.add(request) }
    try scene.runOut()
    let result = try scene.call { _ in try await transfer.result }
    #expect(result.state == .completed)
    #expect(result.metrics?.requests == 1)
    #expect(result.fetched == 2 << 20)
    try scene.end()
  }

  @Test func `The smaller of its own limit and that of all transfers holds`() throws {
    let simulation = SimulatedManager(rateLimit: Self.rate)
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("f", length: 16 << 20) { $0.rateLimit = 4 * Self.rate }
    let reported = progress(simulation)
    let transfer = try simulation.call { try await $0.add(request) }
    let bytes = bytesInAMinute(simulation, reported, [transfer])
    #expect(abs(bytes[0] / (Double(Self.rate) * 60) - 1) <= 0.05, "\(bytes)")
    try simulation.end()
  }

  @Test func `Its own limit changes while it runs, and is kept for its next run`() throws {
    let simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("f", length: 16 << 20) { $0.rateLimit = Self.rate }
    let reported = progress(simulation)
    let transfer = try simulation.call { try await $0.add(request) }
    let first = bytesInAMinute(simulation, reported, [transfer])[0]
    #expect(abs(first / (Double(Self.rate) * 60) - 1) <= 0.05, "\(first)")
    try simulation.call { _ in try await transfer.set { $0.download?.rateLimit = Self.rate / 2 } }
    #expect(try simulation.state(transfer) == .running)
    let second = bytesInAMinute(simulation, reported, [transfer])[0]
    #expect(abs(second / (Double(Self.rate / 2) * 60) - 1) <= 0.05, "\(second)")
    simulation.send(.pause, transfer)
    simulation.pass(.seconds(1))
    #expect(try simulation.state(transfer) == .paused)
    simulation.send(.resume, transfer)
    let third = bytesInAMinute(simulation, reported, [transfer])[0]
    #expect(abs(third / (Double(Self.rate / 2) * 60) - 1) <= 0.05, "\(third)")
    try simulation.call { _ in try await transfer.set { $0.download?.rateLimit = nil } }
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }
}
