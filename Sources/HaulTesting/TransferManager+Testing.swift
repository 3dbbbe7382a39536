public import HaulCore
public import HaulKit

extension TransferManager {
  /// A manager for tests, with its list in memory. The given parts replace those of this machine.
  /// It always assumes a network.
  ///
  /// With a manual clock there is no real waiting: a retry starts when the test moves the clock to
  /// it.
  /// - Parameters:
  ///   - configuration: the rules of the manager.
  ///   - transport: sends the requests; nil for Haul's own, for a `FaultServer`.
  ///   - disk: the disk for files; nil for the real one.
  ///   - clock: the clock of retries, schedules and timeouts; nil for the real one.
  /// - Throws: as `init(_:)`.
  public convenience init(
    testing configuration: TransferManager.Configuration,
    transport: (any Transport)? = nil, disk: SimulatedDisk? = nil, clock: ManualClock? = nil
  ) throws(TransferError) {
    var ports = PortOverrides(transport: transport)
    ports.disk = disk
    ports.clock = clock
    ports.network = UnknownNetwork()
    try self.init(configuration, replacing: ports)
  }
}
