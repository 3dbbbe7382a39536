public import HaulKit
public import ServiceLifecycle

/// Runs a manager as a service of a `ServiceGroup`: on shutdown of the group, it shuts down the
/// manager.
///
/// Interrupted transfers resume when a list in a directory is opened again.
public struct TransferService: Service {
  /// The manager to shut down; use it for everything else.
  public let manager: TransferManager

  /// A service for that manager; run it once.
  public init(_ manager: TransferManager) { self.manager = manager }

  /// Runs until the group shuts down or its task is cancelled; the manager has shut down by then.
  public func run() async {
    // If cancelled, it shuts down too.
    try? await gracefulShutdown()
    await manager.shutdown()
  }
}
