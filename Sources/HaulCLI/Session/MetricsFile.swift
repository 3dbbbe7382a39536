import HaulControl
import HaulCore
import HaulKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a run does, in a file for the textfile collector of Prometheus' node exporter.
actor MetricsFile {
  private static let period: Duration = .seconds(5)

  private let path: String
  private let clock: any TransferClock
  private let start: Instant
  private let registry: MetricsRegistry
  private var collector: TransferMetricsCollector

  init(_ path: String, _ clock: any TransferClock) {
    (self.path, self.clock, start) = (path, clock, clock.now)
    registry = MetricsRegistry()
    collector = TransferMetricsCollector(registry)
  }

  func note(_ events: [TransferEvent]) {
    for event in events { collector.apply(event) }
  }

  /// Writes it every few seconds, until the task is cancelled.
  func follow(_ manager: TransferManager) async {
    while true {
      do {
        try await clock.sleep(until: clock.now + Self.period)
      } catch {
        return
      }
      // The last time, at the end of the run, an error is reported.
      try? await write(manager)
    }
  }

  /// Writes it under another name, and renames it: nobody reads a part of it.
  /// - Throws: `io`, `disk-full`.
  func write(_ manager: TransferManager) async throws(TransferError) {
    TransferMetricsCollector.record(await manager.counts, in: registry)
    TransferMetricsCollector.record(seconds: Units.seconds(clock.now - start), in: registry)
    collector.recordRate()
    let temporary = path + ".tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard descriptor >= 0 else { throw error(errno) }
    let outcome = await OutputStream(descriptor: descriptor).write(registry.text)
    _ = close(descriptor)  // an error of it was one of the write too, or is of no file system here
    switch outcome {
    case .written: break
    case .gone: throw error(EPIPE)
    case .failed(let number): throw error(number)
    }
    guard rename(temporary, path) == 0 else { throw error(errno) }
  }

  private func error(_ number: Int32) -> TransferError {
    TransferError(
      [ENOSPC, EDQUOT].contains(number) ? .diskFull : .io,
      "the metrics file \(path) cannot be written: \(SystemError.text(number))")
  }
}
