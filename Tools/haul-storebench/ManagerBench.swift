import HaulCore
import HaulKit
import HaulStore

/// Measures what a large list costs the users of the library.
extension StoreBench {
  func runManager(_ clock: BenchClock) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    let start = clock.now
    let manager = try await TransferManager(directory: directory, configuration)
    let time = clock.now - start
    report("opened", await manager.counts.values.reduce(0, +), time)
    switch stage {
    case .queue: try await add(manager, clock)
    case .cancelAll:
      let start = clock.now
      _ = try await manager.cancel(.all)
      report("cancelled all", await manager.counts[.cancelled] ?? 0, clock.now - start)
    default: break
    }
    let end = clock.now
    await manager.shutdown()
    report("closed", 1, clock.now - end)
  }

  private func add(_ manager: TransferManager, _ clock: BenchClock) async throws {
    var time = Duration.zero
    for first in stride(from: 0, to: members, by: batch) {
      let requests = try (first..<min(first + batch, members)).map { try request($0) }
      let start = clock.now
      try await manager.add(requests, key: "queue-\(first)")
      time += clock.now - start
    }
    report("added, \(batch) a call", members, time)
  }

  /// Measures the scheduler alone: it chooses the transfer for a free slot.
  func pick(_ clock: BenchClock) {
    var random = SystemRandomNumberGenerator()
    var limits = Scheduler.Limits()
    (limits.active, limits.activePerHost) = (1, 1)
    var scheduler = Scheduler(limits)
    let start = clock.now
    for number in 0..<members {
      scheduler.add(
        TransferID(using: &random), host: "mirror-\(number % hosts).example.org",
        priority: TransferRequest.Priority.allCases[
          number % TransferRequest.Priority.allCases.count], rank: Int64(number) << 20)
    }
    report("known to the scheduler", members, clock.now - start)
    var longest = Duration.zero
    let first = clock.now
    let picks = min(members, 10_000)
    for _ in 0..<picks {
      let before = clock.now
      for id in scheduler.next(at: before) { scheduler.finished(id) }
      longest = max(longest, clock.now - before)
    }
    report("picks", picks, clock.now - first)
    report("the slowest of them", 1, longest)
  }
}
