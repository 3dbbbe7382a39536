public import HaulCore
import HaulKit
import NIOConcurrencyHelpers

extension ResourceCache {
  /// Removes all values from memory. Loads under way go on, and nothing is fetched twice.
  public func purgeMemory() { memory.removeAll() }

  /// Removes the values that are used least until the others cost at most this fraction of the
  /// limit, from 0 to 1.
  public func trimMemory(toFraction fraction: Double) { memory.trim(toFraction: fraction) }

  /// Removes everything, from memory and disk, and all known failures. Loads under way deliver
  /// their values, but do not store them.
  /// - Throws: `io`, `permission-denied`, `in-use`, when the disk cannot be changed; memory is
  ///   empty then.
  public func removeAll() async throws(TransferError) {
    state.withLockedValue { state in
      for id in state.flights.keys { state.flights[id]?.isStored = false }
      state.negative.removeAll()
      _ = state.vary.removeAll()
    }
    memory.removeAll()
    try await copies?.change { disk, now throws(TransferError) in try disk.removeAll(at: now) }
  }

  /// Removes a resource, all its versions on disk, and its known failure. A load of it that is
  /// under way delivers its value, but does not store it.
  /// - Throws: as `removeAll()`.
  public func remove(_ request: ResourceRequest) async throws(TransferError) {
    let primary = ResourceKey(request)
    let key = state.withLockedValue { state in
      let key = state.knownKey(of: request) ?? primary
      for (id, flight) in state.flights where flight.resource == primary {
        state.flights[id]?.isStored = false
      }
      state.negative.remove(key)
      return key
    }
    memory.removeValue(for: key)
    let digest = copies?.key(of: request) ?? ""
    try await copies?.change { disk, now throws(TransferError) in
      try disk.remove(digest, at: now)
    }
  }

  /// Removes the resources on disk that were not used for longest until the others have at most so
  /// many bytes.
  /// - Throws: as `removeAll()`.
  public func trimDisk(toBytes bytes: Int64) async throws(TransferError) {
    _ = try await copies?.change { disk, now throws(TransferError) in
      try disk.trim(to: bytes, at: now)
    }
  }

  /// Opens the directory, which otherwise happens with the first request, to see its errors.
  /// - Throws: `io`, `permission-denied` or `disk-full`, when the directory cannot be used;
  ///   `in-use`, when another process holds it for a second.
  public func open() async throws(TransferError) {
    try await copies?.change { disk, now throws(TransferError) in try disk.open(at: now) }
  }

  /// The bytes on disk; 0 without a directory.
  /// - Throws: `io` when the directory cannot be read.
  public func diskSize() async throws(TransferError) -> Int64 {
    try await copies?.change { disk, now throws(TransferError) in try disk.size(at: now) } ?? 0
  }

  /// Returns when what the cache has delivered so far is on disk. Call it before the program ends,
  /// which would end the writes under way.
  ///
  /// It does not wait for loads that have delivered nothing. A failure of the disk is logged and
  /// counted, as always.
  public func flush() async {
    guard let copies else { return }
    let writing = state.withLockedValue { state in
      state.flights.values.filter { $0.outcome != nil }.compactMap(\.task)
    }
    for task in writing { await task.value }
    await copies.noteUses()
  }
}
