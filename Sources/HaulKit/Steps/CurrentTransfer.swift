import HaulCore

/// The transfer whose step or `prepare` closure runs in this task: waiting for its end would never
/// return.
enum CurrentTransfer {
  @TaskLocal static var id: TransferID?

  static let error = TransferError(
    .dependencyFailed, "a transfer cannot wait for its own end; wait for it elsewhere")
}
