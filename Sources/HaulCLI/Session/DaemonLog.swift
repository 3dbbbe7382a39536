import HaulCore
import HaulLibC
package import Logging

/// The log of the daemon, on standard error.
struct DaemonLog: Sendable {
  let logger: Logger
  /// Whether nobody reads it at once: a file or the journal.
  private let isKept: Bool

  /// - Parameter environment: of this process.
  init(_ environment: [String: String], level: Logger.Level = .info) {
    let isJournal = Self.isJournal(environment)
    // The journal has the time of each line.
    var logger = Logger(label: "haul") { label -> any LogHandler in
      guard isJournal else { return StreamLogHandler.standardError(label: label) }
      return JournalLog(Self.write)
    }
    logger.logLevel = level
    self.logger = logger
    isKept = isJournal || OutputStream.standardError.isFile
  }

  /// Prints what happens before the daemon serves: for a person, or as a line of the log that is
  /// kept, which has its time.
  func warn(_ message: String) async {
    guard isKept else { return await OutputStream.warn(message) }
    logger.warning("\(Messages.shown(message))")
  }

  /// The same, for what keeps it from starting.
  func fail(_ message: String, with status: ExitStatus = .failed) async -> ExitStatus {
    guard isKept else { return await OutputStream.fail(message, with: status) }
    logger.error("\(Messages.shown(message))")
    return status
  }

  func fail(_ error: any Error) async -> ExitStatus {
    await fail("\(error)", with: error is UsageError ? .usage : .failed)
  }

  /// Whether systemd gave it this standard error (`JOURNAL_STREAM`, systemd.exec(5)).
  private static func isJournal(_ environment: [String: String]) -> Bool {
    var status = stat()
    guard let stream = environment["JOURNAL_STREAM"], fstat(STDERR_FILENO, &status) == 0 else {
      return false
    }
    return stream.isByteEqual("\(status.st_dev):\(status.st_ino)")
  }

  private static func write(_ line: String) {
    var rest = Array(line.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { HaulLibC.write(STDERR_FILENO, $0.baseAddress, $0.count) }
      // Nobody can be told that the log is gone.
      guard count > 0 || errno == EINTR else { return }
      rest = rest.dropFirst(max(count, 0))
    }
  }
}

/// Lines for the journal: each begins with its level, as sd-daemon(3) says.
package struct JournalLog: LogHandler {
  package var metadata: Logger.Metadata = [:]
  package var logLevel: Logger.Level = .info
  private let write: @Sendable (String) -> Void

  /// - Parameter write: receives each line, with its line break.
  package init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    let values = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    // Another line would have no level.
    write("<\(Self.priority(event.level))>\(Messages.shown("\(event.message)\(values)"))\n")
  }

  private static func priority(_ level: Logger.Level) -> Int {
    switch level {
    case .critical: 2
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug, .trace: 7
    }
  }
}
