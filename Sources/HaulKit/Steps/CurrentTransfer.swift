import HaulCore

/// The transfer for which a closure of the caller's runs, a step or one that prepares requests: it
/// would wait for ever for its own end.
enum CurrentTransfer {
  @TaskLocal static var id: TransferID?

  static let error = TransferError(
    .dependencyFailed, "a transfer cannot wait for its own end; wait for it elsewhere")
}
