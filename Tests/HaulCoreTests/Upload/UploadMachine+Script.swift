import HaulCore
import Testing

extension UploadMachine {
  mutating func handle(
    _ event: UploadEvent, at time: Duration = .seconds(1)
  ) -> [UploadCommand] {
    var random = SplitMix64(seed: 1)
    return handle(event, at: Instant(time), using: &random)
  }
}

/// An answer after so many bytes of the body.
func answer(
  _ status: Int, _ fields: [(String, String)] = [], body: String = "", isWhole: Bool = true,
  sent: Int64 = 100, part: Int = 0
) throws -> UploadEvent {
  .answered(
    UploadAnswer(
      ResponseHead(
        status: status, headers: HeaderFields(fields), url: try ResourceURL("http://h.example/f")),
      body: Array(body.utf8), isWhole: isWhole, sent: sent, part: part, wallSeconds: 1_700_000_000))
}

/// How the upload ended, if it failed.
func failure(of commands: [UploadCommand]) -> TransferError? {
  if case .finish(.failed(let error))? = commands.last { error } else { nil }
}

/// Why it is tried again; nil if it is not.
func retried(_ commands: [UploadCommand]) -> TransferError? {
  if case .retry(after: _, attempt: _, let error)? = commands.last { error } else { nil }
}

/// The request that is sent.
func message(_ commands: [UploadCommand]) throws -> UploadMessage {
  guard case .send(let message)? = commands.last else {
    throw TransferError(.internal, "\(commands)")
  }
  return message
}
