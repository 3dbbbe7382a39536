public import HaulKit
public import ServiceLifecycle

/// Runs a manager as a service of a `ServiceGroup`: when the group shuts down, it shuts down the
/// manager.
///
/// Interrupted transfers resume when a list in a directory is opened again.
public struct TransferService: Service {
  /// The manager to shut down; use it for everything else.
  public let manager: TransferManager

  /// A service for that manager; run it once.
  public init(_ manager: TransferManager) { self.manager = manager }

  /// Runs until the group shuts down or its task is cancelled, and then shuts down the manager.
  public func run() async {
    // A cancellation also shuts down the manager.
    try? await gracefulShutdown()
    await manager.shutdown()
  }
}
