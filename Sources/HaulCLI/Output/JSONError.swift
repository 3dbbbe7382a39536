import HaulCore

/// `{ "code", "message", "status", "retryable" }`.
struct JSONError: Encodable {
  private let error: TransferError

  init(_ error: TransferError) { self.error = error }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(error.code.rawValue, forKey: .code)
    try object.encode(error.commandLineText, forKey: .message)
    try object.encode(error.status, forKey: .status)
    try object.encode(error.isRetryable, forKey: .retryable)
  }

  private enum Key: String, CodingKey { case code, message, status, retryable }
}

/// Numbers of the output: finite and not negative.
enum JSONNumber {
  /// Whole bytes per second; nil for a rate that is not finite or is too large.
  static func rate(_ bytesPerSecond: Double) -> Int64? {
    guard bytesPerSecond.isFinite, bytesPerSecond < 9e18 else { return nil }
    return Int64(max(0, bytesPerSecond).rounded())
  }

  /// Seconds with millisecond precision; nil if they are not finite or too many.
  static func seconds(_ seconds: Double) -> Double? {
    guard seconds.isFinite, seconds < 1e12 else { return nil }
    return (max(0, seconds) * 1000).rounded() / 1000
  }

  static func seconds(_ duration: Duration) -> Double {
    seconds(Units.seconds(duration)) ?? 0
  }
}
