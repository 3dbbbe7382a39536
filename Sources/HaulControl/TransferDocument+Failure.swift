package import HaulCore

extension TransferDocument {
  /// An error, the same in events, transfers, attempts, notices and `haul probe`.
  package struct Failure: Codable, Hashable, Sendable {
    package var code: TransferError.Code
    package var message: String
    /// The status of the server's answer.
    @Nullable package var status: Int?
    package var isRetryable: Bool

    enum CodingKeys: String, CodingKey {
      case code, message, status
      case isRetryable = "retryable"
    }

    package init(code: TransferError.Code, message: String, status: Int?, isRetryable: Bool) {
      (self.code, self.message, self.status) = (code, message, status)
      self.isRetryable = isRetryable
    }

    /// - Parameter message: its text with the options of a command; nil for its own.
    package init(_ error: TransferError, message: String? = nil) {
      self.init(
        code: error.code, message: message ?? error.message, status: error.status,
        isRetryable: error.isRetryable)
    }

    package var error: TransferError {
      TransferError(code, message, status: status, isRetryable: isRetryable)
    }
  }
}
