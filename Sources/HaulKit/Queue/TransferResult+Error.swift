import HaulCore

extension TransferResult {
  /// The result if it is a success, else its error is thrown.
  var orThrowError: TransferResult {
    get throws(TransferError) {
      switch state {
      case .completed: self
      case .failed: throw error ?? TransferError(.internal, "the transfer failed without an error")
      case .cancelled: throw TransferError(.cancelled, "it was cancelled")
      }
    }
  }
}
