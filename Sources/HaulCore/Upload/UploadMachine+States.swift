/// The states that each machine of an upload has. What only one state needs is data of its case.
protocol UploadStates: Sendable {
  /// Before an attempt.
  static var waiting: Self { get }
  static var done: Self { get }
}

/// How the attempts of an upload end, whatever its protocol.
protocol StatefulUpload: UploadMachine {
  associatedtype State: UploadStates
  var state: State { get set }
  /// How many bytes the server has, of how many; nil if each attempt sends all.
  var progress: (acknowledged: Int64, length: Int64)? { get }
  /// Fails for good.
  mutating func end(_ error: TransferError) -> [UploadCommand]
}

extension StatefulUpload {
  var progress: (acknowledged: Int64, length: Int64)? { nil }

  /// Tries again later, if it may.
  mutating func failed(_ error: TransferError) -> [UploadCommand] {
    switch attempts.failed(error, progress: progress) {
    case .failure(let error): return end(error)
    case .success(let retry):
      state = .waiting
      return [retry]
    }
  }

  mutating func end(_ error: TransferError) -> [UploadCommand] { finish(.failed(error)) }

  mutating func fail(
    _ code: TransferError.Code, _ fact: String, advice: String? = nil, status: Int? = nil
  ) -> [UploadCommand] {
    finish(.failed(TransferError(code, fact, advice: advice, status: status)))
  }

  mutating func finish(_ end: UploadEnd) -> [UploadCommand] {
    state = .done
    return [.finish(end)]
  }
}

/// Why no more parts are begun, while others are still being sent.
struct PartFailure: Sendable {
  let error: TransferError
  /// Whether the server no longer has the upload.
  let isGone: Bool

  /// Of two errors, one that cannot be retried decides.
  init(_ error: TransferError, isGone: Bool, after earlier: PartFailure?) {
    self.error = earlier.map { $0.error.isRetryable ? error : $0.error } ?? error
    self.isGone = isGone || earlier?.isGone ?? false
  }
}
