import FoundationEssentials
import HaulCore
import HaulFiles
import HaulKit
import Logging

/// The disk cache of a transport. After it was opened, its failures are logged and cost only the
/// copy: the bytes then come from the server.
struct StoredCopies: Sendable {
  private let disk: DiskStore
  private let defaults: Freshness.Defaults
  private let logger: Logger
  private let io = BlockingIO()
  /// The most bytes of one resource.
  let maximumSize: Int64

  init(_ configuration: ResourceCacheConfiguration, at directory: String, logger: Logger) {
    disk = DiskStore(configuration, at: directory)
    defaults = configuration.freshnessDefaults
    maximumSize = min(configuration.maximumSize, configuration.diskLimit)
    self.logger = logger
  }

  func open(at now: Double) async throws(TransferError) {
    try await io.run { () throws(TransferError) in try disk.open(at: now) }
  }

  /// Writes down which copies were used.
  func close(at now: Double) async {
    await onDisk { () throws(TransferError) in try disk.noteUses(at: now) }
  }

  /// The copy that answers a request; nil if there is none, or if it lacks one of the digests.
  func find(_ resource: ResourceRequest, with checksums: [Checksum], at now: Double) async -> Blob?
  {
    let digest = ResourceKey(resource).digest
    let found = await onDisk { () throws(TransferError) in
      try disk.find(digest, at: now) { names, selection in
        ResourceKey.digest(of: VaryNames.names(names).selection(of: resource.headers)) == selection
      }
    }
    guard let copy = found ?? nil else { return nil }
    var hash = IncrementalDigest(checksums.map(\.algorithm))
    copy.body.withUnsafeBytes { hash.update($0) }
    guard hash.checksums == checksums else {
      logger.debug("cache: the copy lacks the digest: \(resource.url.redacted)")
      return nil
    }
    return copy
  }

  func isFresh(_ copy: Blob, for resource: ResourceRequest, at now: Double) -> Bool {
    Freshness(copy.head.response, defaults: defaults).use(at: now, for: resource.directives)
      == .fresh
  }

  /// Stores a copy in place of an older one; removes both if it may not be stored.
  func keep(_ copy: Blob, of resource: ResourceRequest, at now: Double) async {
    guard copy.head.response.isStorable(to: resource.directives) else {
      return await remove(resource, at: now)
    }
    let stored: Void? = await onDisk { () throws(TransferError) in try disk.store(copy, at: now) }
    guard stored != nil else { return }
    logger.debug("cache: stored \(copy.body.count) bytes: \(resource.url.redacted)")
  }

  func remove(_ resource: ResourceRequest, at now: Double) async {
    let digest = ResourceKey(resource).digest
    await onDisk { () throws(TransferError) in try disk.remove(digest, at: now) }
  }

  @discardableResult
  private func onDisk<Value: Sendable>(
    _ body: @escaping @Sendable () throws(TransferError) -> Value
  ) async -> Value? {
    do throws(TransferError) {
      return try await io.run(body)
    } catch {
      logger.warning("cache: \(error.message)", metadata: ["code": "\(error.code.rawValue)"])
      return nil
    }
  }
}
