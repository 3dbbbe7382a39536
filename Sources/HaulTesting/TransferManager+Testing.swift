public import HaulCore
public import HaulKit

extension TransferManager {
  /// A manager for tests, whose list lives in memory: what is given takes the place of this
  /// machine's. It always believes that there is a network.
  ///
  /// With a manual clock nothing is waited for: a retry starts when the test has moved the clock
  /// to it.
  /// - Parameters:
  ///   - configuration: the rules of the manager.
  ///   - transport: sends the requests; nil for Haul's own, to a `FaultServer`.
  ///   - disk: where files are written; nil for the real one.
  ///   - clock: by which retries, schedules and timeouts wait; nil for the real one.
  /// - Throws: as `init(_:)`.
  public convenience init(
    testing configuration: TransferManager.Configuration,
    transport: (any Transport)? = nil, disk: SimulatedDisk? = nil, clock: ManualClock? = nil
  ) throws(TransferError) {
    var ports = ReplacedPorts(transport: transport)
    ports.disk = disk
    ports.clock = clock
    ports.network = UnknownNetwork()
    try self.init(configuration, replacing: ports)
  }
}
