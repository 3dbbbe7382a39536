import Foundation
import HaulCore
import HaulKit
import HaulStore

/// Measures single calls of the library, and for comparison a loop of single syncs on the same
/// disk.
extension StoreBench {
  private static let many = 20_000
  private static let few = 5000

  func runCalls(_ clock: BenchClock) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let manager = try await TransferManager(directory: directory + "/list", configuration)
    try await addAgain(manager, clock)
    for _ in 0..<3 {
      try syncs(clock)
      try await addSingly(manager, clock)
    }
    try await addAtOnce(manager, clock)
    await manager.shutdown()
    try await pages(configuration, clock)
  }

  private func identified(_ range: Range<Int>, _ what: String) throws -> [TransferRequest] {
    try range.map { number in
      var request = try request(number)
      request.identifier = "\(what) \(number)"
      return request
    }
  }

  private func addAgain(_ manager: TransferManager, _ clock: BenchClock) async throws {
    let requests = try identified(0..<Self.many, "again")
    try await manager.add(requests)
    let start = clock.now
    try await manager.add(requests)
    report("the same add again", Self.many, clock.now - start)
  }

  /// Each sync writes as many bytes as one transfer needs in the log of the database.
  private func syncs(_ clock: BenchClock) throws {
    let file = open(directory + "/syncs", O_CREAT | O_WRONLY, 0o600)
    guard file >= 0 else { throw TransferError(.io, "cannot make a file in \(directory)") }
    defer { close(file) }
    let bytes = [UInt8](repeating: 1, count: 24 << 10)
    let start = clock.now
    for number in 0..<Self.few {
      guard pwrite(file, bytes, bytes.count, off_t(number % 200 * bytes.count)) == bytes.count,
        fdatasync(file) == 0
      else { throw TransferError(.io, "cannot write in \(directory)") }
    }
    report("a bare loop of syncs", Self.few, clock.now - start)
  }

  private func addSingly(_ manager: TransferManager, _ clock: BenchClock) async throws {
    let requests = try (0..<Self.few).map { try request($0) }
    let start = clock.now
    for request in requests { try await manager.add(request) }
    report("added one by one", Self.few, clock.now - start)
  }

  private func addAtOnce(_ manager: TransferManager, _ clock: BenchClock) async throws {
    let requests = try (0..<Self.few).map { try request($0) }
    let start = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for request in requests { group.addTask { try await manager.add(request) } }
      try await group.waitForAll()
    }
    report("added by as many tasks", Self.few, clock.now - start)
  }

  /// Reads pages of a list in memory.
  private func pages(
    _ configuration: TransferManager.Configuration, _ clock: BenchClock
  ) async throws {
    let manager = try TransferManager(configuration)
    try await manager.add(try (0..<Self.many).map { try request($0) })
    let start = clock.now
    var (last, count): (TransferID?, Int) = (nil, 0)
    while let page = try await manager.summaries(after: last, atMost: 100).nonEmpty {
      (last, count) = (page.last?.id, count + page.count)
    }
    report("200 pages of 100 in memory", count, clock.now - start)
    await manager.shutdown()
  }
}

extension Array {
  fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
