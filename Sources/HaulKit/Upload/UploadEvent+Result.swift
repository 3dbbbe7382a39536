import HaulCore

extension UploadEvent {
  /// How a request ended; nil if it was stopped.
  init?(
    _ result: Result<SendResponse, any Error>, of part: Int, _ progress: UploadProgress,
    _ stop: StopSignal, _ engine: Engine
  ) {
    let sent = progress.sent(of: part)
    switch result {
    case .success(let response):
      self = .answered(
        UploadAnswer(
          response.head, body: response.body, isWhole: response.isWhole, sent: sent, part: part,
          wallSeconds: engine.clock.wallSeconds))
    case .failure(let error):
      if let stall = progress.stall(of: part) {
        self = .failed(stall, sent: sent, part: part)
      } else if stop.isStopped {
        return nil
      } else {
        let lost = TransferError(
          .connectionLost, "the request failed (\(type(of: error)))", isRetryable: true)
        self = .failed(error as? TransferError ?? lost, sent: sent, part: part)
      }
    }
  }
}
