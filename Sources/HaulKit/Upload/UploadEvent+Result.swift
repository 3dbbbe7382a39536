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
          response.head, body: response.body, sent: sent, part: part,
          wallSeconds: engine.clock.wallSeconds))
    case .failure where progress.hasStalled(part):
      self = .failed(engine.idleTimeoutError, sent: sent, part: part)
    case .failure where stop.isStopped: return nil
    case .failure(let error as TransferError):
      self = .failed(error, sent: sent, part: part)
    case .failure(let error):
      self = .failed(
        TransferError(
          .connectionLost, "the request failed (\(type(of: error)))", isRetryable: true),
        sent: sent, part: part)
    }
  }
}
