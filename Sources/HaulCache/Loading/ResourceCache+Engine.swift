public import HaulCore
public import HaulKit

extension ResourceCache {
  /// A cache over Haul's engine: with its limits, retries and pauses of hosts.
  ///
  /// It reads files of certificates on the calling thread, and opens the directory with the first
  /// request.
  /// - Parameters:
  ///   - configuration: the bounds of the cache.
  ///   - transfers: the limits of its requests, and what connections need. It waits for neither
  ///     network nor disk: a failed load is repeated as `configuration` says.
  ///     What came through a proxy, or with certificates of your own, is not used without them.
  ///   - transport: sends the requests in place of Haul's own: a mock, or a session of the system.
  ///   - cost: the cost of a value in memory.
  ///   - decode: makes a value of a complete response.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `internal`
  ///   for an invalid schedule.
  public convenience init(
    _ configuration: ResourceCacheConfiguration = ResourceCacheConfiguration(),
    transfers: TransferManager.Configuration = TransferManager.Configuration(),
    transport: (any Transport)? = nil, cost: @escaping Cost = { $1.data.count },
    decode: @escaping Decoder
  ) throws(TransferError) {
    self.init(
      configuration, fetcher: try EngineFetcher(transfers, transport: transport),
      clock: SystemClock(), io: BlockingIO(), route: ResponseRoute(transfers), cost: cost,
      decode: decode)
  }
}
