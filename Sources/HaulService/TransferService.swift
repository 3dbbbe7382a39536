public import HaulKit
public import ServiceLifecycle

/// A manager as a service of a `ServiceGroup`: when the group shuts down, it stops what runs, and
/// ends.
///
/// What ran goes on from its bytes when a list in a directory is opened the next time.
public struct TransferService: Service {
  /// The manager that is shut down; use it for everything else.
  public let manager: TransferManager

  /// A service of that manager, which is to be run once.
  public init(_ manager: TransferManager) { self.manager = manager }

  /// Runs until the group shuts down or its task is cancelled; the manager has shut down then.
  public func run() async {
    // Cancelled, it shuts down as well.
    try? await gracefulShutdown()
    await manager.shutdown()
  }
}
