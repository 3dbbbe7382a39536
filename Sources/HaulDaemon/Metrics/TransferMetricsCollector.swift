import CoreMetrics
import HaulCore
import HaulKit
import Logging

/// What the transfers do, as metrics: counted from their events.
struct TransferMetricsCollector {
  private let registry: MetricsRegistry
  /// Bytes that were counted of each running transfer, and its rate.
  private var running: [TransferID: (first: Int64, bytes: Int64, rate: Double)] = [:]

  init(_ registry: MetricsRegistry) { self.registry = registry }

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
      Gauge(label: "haul_rate_bytes_per_second", factory: registry)
        .record(collector.running.values.reduce(0) { $0 + $1.rate })
    }
  }

  private mutating func apply(_ event: TransferEvent) {
    switch event.kind {
    case .progress(let progress):
      let known = running[event.id] ?? (progress.bytes, progress.bytes, 0)
      count("haul_received_bytes_total", progress.bytes - known.bytes)
      running[event.id] = (known.first, max(known.bytes, progress.bytes), progress.rate)
    case .attempt:
      running[event.id]?.rate = 0
      count("haul_retries_total", 1)
    case .finished(let result):
      let counted = running.removeValue(forKey: event.id).map { $0.bytes - $0.first } ?? 0
      count("haul_received_bytes_total", result.fetched - counted)
      Counter(
        label: "haul_ended_total", dimensions: [("state", result.state.rawValue)],
        factory: registry
      ).increment()
    case .paused, .removed, .waiting: running[event.id] = nil
    default: break
    }
  }

  private func count(_ name: String, _ amount: Int64) {
    if amount > 0 { Counter(label: name, factory: registry).increment(by: amount) }
  }
}
