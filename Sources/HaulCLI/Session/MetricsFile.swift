import HaulControl
import HaulCore
import HaulKit
import HaulLibC

/// What a run does, in a file for the textfile collector of Prometheus' node exporter.
actor MetricsFile {
  private static let period: Duration = .seconds(5)

  private let path: String
  private let clock: any TransferClock
  private let start: Instant
  private let registry: MetricsRegistry
  private var collector: TransferMetricsCollector
  private let output: OutputOptions
  /// How many completed files count as failed.
  private var doubtful = 0

  init(_ path: String, _ output: OutputOptions, _ clock: any TransferClock) {
    (self.path, self.clock, start) = (path, clock, clock.now)
    (registry, self.output) = (MetricsRegistry(), output)
    collector = TransferMetricsCollector(registry) { output.state(of: $0) }
  }

  func note(_ events: [TransferEvent]) {
    for event in events {
      collector.apply(event)
      if case .finished(let result) = event.kind, output.state(of: result) != result.state {
        doubtful += 1
      }
    }
  }

  /// Writes it every few seconds, until the task is cancelled.
  func follow(_ manager: TransferManager, _ feeder: InputFeeder?) async {
    while true {
      do {
        try await clock.sleep(until: clock.now + Self.period)
      } catch {
        return
      }
      // The last time, at the end of the run, an error is reported.
      try? await write(manager, feeder)
    }
  }

  /// Writes it under another name, and renames it: nobody reads a part of it.
  /// - Throws: `io`, `disk-full`, and `name-conflict` if another file has the name.
  func write(
    _ manager: TransferManager, _ feeder: InputFeeder?
  ) async throws(TransferError) {
    var counts = await manager.counts
    if let feeder { counts.merge(await feeder.counts, uniquingKeysWith: +) }
    counts[.completed, default: 0] -= doubtful
    counts[.failed, default: 0] += doubtful
    TransferMetricsCollector.record(counts, in: registry)
    TransferMetricsCollector.record(seconds: Units.seconds(clock.now - start), in: registry)
    collector.recordRate()
    try checkName()
    let (directory, name) = path.pathParts
    // The name of no other file, also if another run writes the same one.
    let digits = UInt64.random(in: .min ... .max).hexDigits
    let temporary = directory.appendingPath(".\(name).\(digits)")
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard descriptor >= 0 else { throw error(errno) }
    do throws(TransferError) {
      let outcome = await OutputStream(descriptor: descriptor).write(registry.text)
      // An error of it was one of the write too, or is of no file system here.
      _ = close(descriptor)
      switch outcome {
      case .written: break
      case .gone: throw error(EPIPE)
      case .failed(let number): throw error(number)
      }
      try checkName()
      guard rename(temporary, path) == 0 else { throw error(errno) }
    } catch {
      _ = unlink(temporary)  // the first error says more
      throw error
    }
  }

  /// How each text of metrics begins.
  private static let beginning = Array("# TYPE haul_".utf8)

  /// A mistaken name may be that of a list, or of a device.
  /// - Throws: if something has the name that is neither empty nor such a file.
  private func checkName() throws(TransferError) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT else { throw error(errno) }
      return
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw TransferError(.notARegularFile, "the metrics file \(path) is no regular file")
    }
    guard status.st_size > 0 else { return }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard descriptor >= 0 else { throw error(errno) }
    defer { _ = close(descriptor) }  // nothing was written
    var start = Self.beginning
    let count = read(descriptor, &start, start.count)
    guard count >= 0 else { throw error(errno) }
    guard count == start.count, start == Self.beginning else {
      throw TransferError(
        .nameConflict, "the metrics file \(path) would replace a file of another kind",
        advice: "name another one, or remove it")
    }
  }

  private func error(_ number: Int32) -> TransferError {
    TransferError(
      [ENOSPC, EDQUOT].contains(number) ? .diskFull : .io,
      "the metrics file \(path) cannot be written: \(SystemError.text(number))")
  }
}
