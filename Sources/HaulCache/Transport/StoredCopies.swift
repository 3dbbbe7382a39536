import FoundationEssentials
import HaulCore
import HaulKit
import Logging
import Synchronization

/// The disk cache of a transport. Its failures are logged and cost only the copy: the bytes then
/// come from the server. If another process holds the directory, it is not asked again.
final class StoredCopies: Sendable {
  private let disk: DiskStore
  private let route: ResponseRoute
  private let isInUse = Atomic(false)
  private let defaults: Freshness.Defaults
  private let logger: Logger
  private let io = BlockingIO()
  /// The most bytes of one resource.
  let maximumSize: Int64

  init(
    _ configuration: ResourceCacheConfiguration, at directory: String, over route: ResponseRoute,
    logger: Logger
  ) {
    disk = DiskStore(configuration, at: directory)
    self.route = route
    defaults = configuration.freshnessDefaults
    maximumSize = min(configuration.maximumSize, configuration.diskLimit)
    self.logger = logger
  }

  /// Whether the directory may be asked.
  var isAvailable: Bool { !isInUse.load(ordering: .relaxed) }

  /// From now on the directory is not asked.
  func giveUp() { isInUse.store(true, ordering: .relaxed) }

  func open(at now: Double) async throws(TransferError) {
    try await io.run { [disk] () throws(TransferError) in try disk.open(at: now) }
  }

  /// What copies of a resource are stored under.
  func key(of resource: ResourceRequest) -> String {
    ResourceKey(resource).digest(over: route.text(to: resource.url.origin))
  }

  /// Writes down which copies were used.
  func close(at now: Double) async {
    await onDisk { disk throws(TransferError) in try disk.noteUses(at: now) }
  }

  /// The copy that answers a request; nil if there is none, or if it lacks one of the digests.
  func find(_ resource: ResourceRequest, with checksums: [Checksum], at now: Double) async -> Blob?
  {
    let key = key(of: resource)
    let found = await onDisk { disk throws(TransferError) in
      try disk.find(key, at: now) { names, selection in
        ResourceKey.digest(of: VaryNames.names(names).selection(of: resource.headers)) == selection
      }
    }
    guard let copy = found ?? nil else { return nil }
    guard copy.has(checksums) else {
      logger.debug("cache: the copy lacks the digest: \(resource.url.redacted)")
      return nil
    }
    return copy
  }

  func isFresh(_ copy: Blob, for resource: ResourceRequest, at now: Double) -> Bool {
    var directives = resource.directives
    // A file that is published should be right.
    directives.maxStale = nil
    return Freshness(copy.head.response, defaults: defaults).use(at: now, for: directives) == .fresh
  }

  /// Stores a copy in place of an older one; removes both if it may not be stored.
  func keep(_ copy: Blob, of resource: ResourceRequest, at now: Double) async {
    guard copy.head.response.isStorable(to: resource.directives) else {
      return await remove(resource, at: now)
    }
    let isStored = await onDisk { disk throws(TransferError) in try disk.store(copy, at: now) }
    guard let isStored else { return }
    let outcome =
      isStored
      ? "stored \(copy.body.count) bytes"
      : "not stored: it is too large, or lacks a digest that the server states"
    logger.debug("cache: \(outcome): \(resource.url.redacted)")
  }

  func remove(_ resource: ResourceRequest, at now: Double) async {
    let key = key(of: resource)
    await onDisk { disk throws(TransferError) in try disk.remove(key, at: now) }
  }

  @discardableResult
  private func onDisk<Value: Sendable>(
    _ body: @escaping @Sendable (DiskStore) throws(TransferError) -> Value
  ) async -> Value? {
    guard isAvailable else { return nil }
    do throws(TransferError) {
      return try await io.run { [disk] () throws(TransferError) in try body(disk) }
    } catch {
      if error.code == .inUse { giveUp() }
      logger.warning("cache: \(error.message)", metadata: ["code": "\(error.code.rawValue)"])
      return nil
    }
  }
}
