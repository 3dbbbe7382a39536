import HaulCore

/// The transfer whose step or `prepare` closure runs in this task. It must not wait for its own
/// end.
enum CurrentTransfer {
  @TaskLocal static var id: TransferID?

  static let error = TransferError(
    .dependencyFailed, "a transfer cannot wait for its own end", advice: "wait for it elsewhere")
}
