import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// One rate limit for all downloads of a manager, with a clock that only the test moves.
@Suite struct SharedRateTests {
  private static let rate: Int64 = 64 << 10

  /// The last reported bytes of each transfer.
  private func progress(_ scene: SimulatedManager) -> NIOLockedValueBox<[TransferID: Int64]> {
    let told = NIOLockedValueBox<[TransferID: Int64]>([:])
    let events = scene.process.manager.events()
    scene.process.start {
      for await event in events {
        guard case .progress(let progress) = event.kind else { continue }
        told.withLockedValue { $0[event.id] = progress.bytes }
      }
    }
    return told
  }

  @Test func `Running transfers share the manager's rate limit by priority weights`() throws {
    let scene = SimulatedManager(active: 2, rateLimit: Self.rate)
    // The network is always faster than the limit.
    scene.servers.habits.pauses = false
    let priorities: [TransferRequest.Priority] = [.utility, .userInitiated]
    let requests = try priorities.map { priority in
      var request = try scene.download("\(priority)", length: 8 << 20)
      request.priority = priority
      return request
    }
    let told = progress(scene)
    let transfers = try scene.call { try await $0.add(requests) }
    scene.pass(.seconds(1))
    let before = told.withLockedValue { $0 }
    scene.pass(.seconds(60))
    let after = told.withLockedValue { $0 }
    let weights = priorities.reduce(0) { $0 + $1.weight }
    for (transfer, priority) in zip(transfers, priorities) {
      let bytes = try #require(after[transfer.id]) - (before[transfer.id] ?? 0)
      let wanted = Double(Self.rate) * 60 * Double(priority.weight) / Double(weights)
      #expect(abs(Double(bytes) / wanted - 1) <= 0.05, "\(priority): \(bytes) of \(wanted)")
      #expect(try scene.state(transfer) == .running)
    }
    try scene.end()
  }

  @Test func `Changing the priority of a running transfer changes its share of the limit`() throws {
    let scene = SimulatedManager(active: 2, rateLimit: Self.rate)
    scene.servers.habits.pauses = false
    let requests = try ["a", "b"].map { try scene.download($0, length: 8 << 20) }
    let told = progress(scene)
    let transfers = try scene.call { try await $0.add(requests) }
    scene.pass(.seconds(30))
    let first = transfers[0].id
    _ = try scene.call { try await $0.setPriority(.background, of: .ids([first])) }
    scene.pass(.seconds(1))
    let before = told.withLockedValue { $0 }
    scene.pass(.seconds(60))
    let after = told.withLockedValue { $0 }
    let bytes = try transfers.map { transfer in
      try #require(after[transfer.id]) - (before[transfer.id] ?? 0)
    }
    let wanted =
      Double(TransferRequest.Priority.default.weight)
      / Double(TransferRequest.Priority.background.weight)
    #expect(abs(Double(bytes[1]) / Double(bytes[0]) / wanted - 1) <= 0.05, "\(bytes)")
    try scene.end()
  }
}
