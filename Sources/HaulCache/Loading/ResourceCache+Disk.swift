import HaulCore
import HaulKit
import Logging
import NIOConcurrencyHelpers
import Synchronization

/// What a load still has to do on disk.
enum PendingWrite: Sendable {
  case store(Blob)
  /// Removes all versions of a resource.
  case remove(String)

  var bytes: Int {
    switch self {
    case .store(let blob): blob.body.count
    case .remove: 0
    }
  }
}

/// The disk, whose failures never fail a load: the value then comes from the network.
extension ResourceCache {
  /// Bodies that may wait to be written, in bytes.
  static var maximumUnwritten: Int { 64 << 20 }

  /// The blob on disk that answers a request.
  func storedBlob(for request: ResourceRequest) async -> Blob? {
    guard let disk else { return nil }
    let (resource, now) = (diskKey(of: request), clock.wallSeconds)
    return await onDisk { () throws(TransferError) in
      let blob = try disk.find(resource, at: now) { names, selection in
        let fields = VaryNames.names(names).selection(of: request.headers)
        return ResourceKey.digest(of: fields) == selection
      }
      if let blob { self.counters.update { $0.bytesRead += blob.body.count } }
      return blob
    } ?? nil
  }

  /// Writes what a load has found, unless it was removed meanwhile.
  func perform(_ write: PendingWrite, of flight: UInt64) async {
    guard let disk else { return }
    let now = clock.wallSeconds
    unwritten.wrappingAdd(write.bytes, ordering: .relaxed)
    defer { unwritten.wrappingSubtract(write.bytes, ordering: .relaxed) }
    await onDisk { () throws(TransferError) in
      switch write {
      case .remove(let resource): try disk.remove(resource, at: now)
      case .store(let blob):
        guard self.stores(flight) else { return }
        guard try disk.store(blob, at: now) else { return }
        self.counters.update { $0.bytesWritten += blob.body.count }
        if !self.stores(flight) { try disk.remove(blob.head.resource, at: now) }
      }
    }
  }

  /// Whether the result of a flight may be stored. A flight that nobody waits for any more may not.
  private func stores(_ flight: UInt64) -> Bool {
    state.withLockedValue { $0.flights[flight]?.isStored ?? false }
  }

  @discardableResult
  func onDisk<Result: Sendable>(
    _ body: @escaping @Sendable () throws(TransferError) -> Result
  ) async -> Result? {
    do throws(TransferError) {
      return try await io.run(body)
    } catch {
      counters.update { $0.diskFailures += 1 }
      configuration.logger.warning(
        "\(error.message)", metadata: ["code": "\(error.code.rawValue)"])
      return nil
    }
  }
}
