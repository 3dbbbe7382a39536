import HaulControl
import HaulKit
import Logging

extension TransferMetricsCollector {
  /// Counts until the manager has shut down.
  static func run(
    _ manager: TransferManager, _ registry: MetricsRegistry, _ history: TransferHistory,
    _ logger: Logger, _ writer: LogWriter
  ) async {
    var (collector, log) = (TransferMetricsCollector(registry), TransferLog())
    let events = manager.events()
    while true {
      let some = await events.next(atMost: 1000)
      guard !some.isEmpty else { return }
      var entries: [LogEntry] = []
      for event in some {
        collector.apply(event)
        history.apply(event)
        entries += log.entries(about: event, time: SystemClock().wallSeconds)
      }
      for entry in entries { logger.info("\(entry.text)") }
      await writer.append(entries)
      collector.recordRate()
    }
  }
}
