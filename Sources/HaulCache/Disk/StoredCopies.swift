import FoundationEssentials
import HaulCore
import HaulKit
import Logging
import Synchronization

/// The copies of a cache on disk, by request. A failure of the disk is logged and costs only the
/// copy: the bytes then come from the server.
final class StoredCopies: Sendable {
  private let disk: DiskStore
  private let route: ResponseRoute
  private let clock: any TransferClock
  private let io: BlockingIO
  private let logger: Logger
  private let counters: CacheCounters
  private let isGivenUp = Atomic(false)
  private let givesUpWhenInUse: Bool

  /// - Parameter givesUpWhenInUse: does not ask the directory again once another process held it
  ///   for too long.
  init(
    _ configuration: ResourceCacheConfiguration, at directory: String, over route: ResponseRoute,
    clock: any TransferClock, io: BlockingIO, counters: CacheCounters = CacheCounters(),
    givesUpWhenInUse: Bool = false
  ) {
    disk = DiskStore(configuration, at: directory)
    logger = configuration.logger
    (self.route, self.clock, self.io, self.counters) = (route, clock, io, counters)
    self.givesUpWhenInUse = givesUpWhenInUse
  }

  /// Whether the directory may be asked.
  var isAvailable: Bool { !isGivenUp.load(ordering: .relaxed) }

  /// From now on the directory is not asked.
  func giveUp() { isGivenUp.store(true, ordering: .relaxed) }

  /// What copies of a resource are stored under.
  func key(of request: ResourceRequest) -> String {
    ResourceKey(request).digest(over: route.text(to: request.url.origin))
  }

  /// A copy to store: `Vary` of the response names the fields of the request that select it.
  /// - Parameter representation: of the body; a confirmed one keeps it.
  func copy(
    _ body: Data, of request: ResourceRequest, _ response: StoredResponse,
    representation: UInt64 = .random(in: .min ... .max)
  ) -> Blob {
    let vary = VaryNames(response.headers)
    var names: [String] = []
    if case .names(let found) = vary { names = found }
    return Blob(
      head: BlobHead(
        resource: key(of: request), address: request.url.withoutQueryValues,
        addressDigest: ResourceKey.digest(of: request.url), vary: names,
        selection: ResourceKey.digest(of: vary.selection(of: request.headers)),
        representation: representation, response: response),
      body: body)
  }

  /// The copy that answers a request; nil if there is none, or if it lacks one of the digests.
  func find(_ request: ResourceRequest, with checksums: [Checksum] = []) async -> Blob? {
    let key = key(of: request)
    let found = await attempt { disk, now throws(TransferError) in
      try disk.find(key, at: now) { names, selection in
        ResourceKey.digest(of: VaryNames.names(names).selection(of: request.headers)) == selection
      }
    }
    guard let copy = found ?? nil else { return nil }
    counters.update { $0.bytesRead += copy.body.count }
    guard copy.body.has(checksums) else {
      logger.debug("cache: the copy lacks the digest: \(request.url.redacted)")
      return nil
    }
    return copy
  }

  /// Stores a copy in place of an older one.
  /// - Parameter isWanted: false once the resource was removed; then the copy does not stay.
  func keep(_ copy: Blob, while isWanted: @escaping @Sendable () -> Bool = { true }) async {
    let isStored = await attempt { disk, now throws(TransferError) in
      guard isWanted(), try disk.store(copy, at: now) else { return false }
      if !isWanted() { try disk.remove(copy.head.resource, at: now) }
      return true
    }
    guard let isStored else { return }
    if isStored { counters.update { $0.bytesWritten += copy.body.count } }
    let outcome =
      isStored
      ? "stored \(copy.body.count) bytes"
      : "not stored: it is too large, was removed, or lacks a digest that the server states"
    logger.debug("cache: \(outcome): \(copy.head.address)")
  }

  /// Removes all copies of a resource.
  func remove(_ request: ResourceRequest) async {
    let key = key(of: request)
    await attempt { disk, now throws(TransferError) in try disk.remove(key, at: now) }
  }

  /// Writes down which copies were used.
  func noteUses() async {
    await attempt { disk, now throws(TransferError) in try disk.noteUses(at: now) }
  }

  func change<Value: Sendable>(
    _ body: @escaping @Sendable (DiskStore, Double) throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    try await io.run { [disk, now = clock.wallSeconds] () throws(TransferError) in
      try body(disk, now)
    }
  }

  @discardableResult
  private func attempt<Value: Sendable>(
    _ body: @escaping @Sendable (DiskStore, Double) throws(TransferError) -> Value
  ) async -> Value? {
    guard isAvailable else { return nil }
    do throws(TransferError) {
      return try await change(body)
    } catch {
      if error.code == .inUse, givesUpWhenInUse { giveUp() }
      counters.update { $0.diskFailures += 1 }
      logger.warning("cache: \(error.message)", metadata: ["code": "\(error.code.rawValue)"])
      return nil
    }
  }
}
