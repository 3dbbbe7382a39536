import HaulControl
import HaulKit
import Logging

extension TransferMetricsCollector {
  /// Counts until the manager has shut down.
  static func run(
    _ manager: TransferManager, _ registry: MetricsRegistry, _ history: TransferHistory,
    _ logger: Logger
  ) async {
    var (collector, log) = (TransferMetricsCollector(registry), TransferLog())
    let events = manager.events()
    while true {
      let some = await events.next(atMost: 1000)
      guard !some.isEmpty else { return }
      for event in some {
        collector.apply(event)
        history.apply(event)
        for line in log.lines(about: event, time: SystemClock().wallSeconds) {
          logger.info("\(line)")
        }
      }
      collector.recordRate()
    }
  }
}
