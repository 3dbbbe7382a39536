package import Logging

/// The engine's log for `-v`: the console writes its lines between its own lines.
package struct StandardErrorLog: LogHandler {
  package var metadata: Logger.Metadata = [:]
  package var logLevel: Logger.Level = .debug
  private let lines: AsyncStream<String>.Continuation

  /// A logger that sends its lines to this continuation.
  package static func logger(to lines: AsyncStream<String>.Continuation) -> Logger {
    Logger(label: "haul") { _ in StandardErrorLog(to: lines) }
  }

  /// - Parameter lines: receives each escaped line, without its line break.
  package init(to lines: AsyncStream<String>.Continuation) { self.lines = lines }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    let values = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    lines.yield(Messages.shown("haul: \(event.level): \(event.message)\(values)"))
  }
}
