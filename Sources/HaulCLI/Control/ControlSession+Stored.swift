import HaulControl
import HaulCore

/// What is read from the stored list when no daemon runs.
extension ControlSession {
  /// What `body` gets from the daemon or, when none runs, `stored` from the list that it has left.
  /// - Throws: `ControlClient.Failure.notRunning` if there is neither.
  func reading<Value>(
    _ body: () async throws -> Value,
    stored: (any StoredListReader) async throws -> Value?
  ) async throws -> Value {
    do {
      return try await body()
    } catch ControlClient.Failure.notRunning {
      guard let reader = context.stored, let value = try await stored(reader) else {
        throw ControlClient.Failure.notRunning
      }
      await OutputStream.warn(
        "the daemon is not running: this is the list that it has left; haul daemon start")
      return value
    }
  }
}
