import HaulCore
import HaulKit
import HaulTesting
import Testing

extension DownloadFixture {
  /// A configuration that only replaces the authorities of the system.
  func configuration(
    _ change: (inout TransferManager.Configuration) -> Void = { _ in }
  ) throws -> TransferManager.Configuration {
    var configuration = TransferManager.Configuration()
    configuration.idleTimeout = .seconds(120)
    configuration.waitsForDisk = false
    configuration.waitsForNetwork = false
    if server.tls != .none { configuration.certificateAuthorities = try authorityFile() }
    change(&configuration)
    return configuration
  }

  /// Runs a request to its end, with a shared manager.
  func finish(_ request: DownloadRequest, with manager: TransferManager) async throws -> Outcome {
    try #require(try await finishAll([request], with: manager).first)
  }

  /// Runs requests at the same time to their ends; results in order.
  func finishAll(
    _ requests: [DownloadRequest], with manager: TransferManager
  ) async throws -> [Outcome] {
    let stream = manager.events()
    let ids = try await manager.add(requests).map(\.id)
    var events: [TransferID: [TransferEvent.Kind]] = [:]
    var results: [TransferID: TransferResult] = [:]
    for await event in stream where ids.contains(event.id) {
      events[event.id, default: []].append(event.kind)
      if case .finished(let result) = event.kind { results[event.id] = result }
      if results.count == ids.count { break }
    }
    return try ids.map { id in
      Outcome(result: try #require(results[id]), events: events[id] ?? [])
    }
  }

  /// Runs `body` with a manager that is shut down afterwards.
  func withManager<Value>(
    _ change: (inout TransferManager.Configuration) -> Void = { _ in },
    _ body: (TransferManager) async throws -> Value
  ) async throws -> Value {
    let manager = try TransferManager(try configuration(change))
    do {
      let value = try await body(manager)
      await manager.shutdown()
      return value
    } catch {
      await manager.shutdown()
      throw error
    }
  }
}
