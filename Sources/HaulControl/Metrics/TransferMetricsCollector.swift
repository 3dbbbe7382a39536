import CoreMetrics
package import HaulCore

/// What the transfers do, as metrics: counted from their events. The daemon and `--metrics-file`
/// have the same.
package struct TransferMetricsCollector {
  private let registry: MetricsRegistry
  /// Bytes that were counted of each running transfer, and its rate.
  private var running: [TransferID: (first: Int64, bytes: Int64, rate: Double)] = [:]

  /// The state that a result counts as.
  private let state: @Sendable (TransferResult) -> TransferResult.State

  package init(
    _ registry: MetricsRegistry,
    state: @escaping @Sendable (TransferResult) -> TransferResult.State = { $0.state }
  ) {
    (self.registry, self.state) = (registry, state)
  }

  package mutating func apply(_ event: TransferEvent) {
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
      let state = state(result)
      count("haul_ended_total", 1, ("state", state.rawValue))
      if state == .failed, let code = result.error?.code.rawValue ?? result.warning?.code {
        count("haul_failed_total", 1, ("code", code))
      }
    case .paused, .removed, .waiting: running[event.id] = nil
    default: break
    }
  }

  private func count(_ name: String, _ amount: Int64, _ dimensions: (String, String)...) {
    guard amount > 0 else { return }
    Counter(label: name, dimensions: dimensions, factory: registry).increment(by: amount)
  }

  /// Records how many bytes arrive now.
  package func recordRate() {
    Gauge(label: "haul_rate_bytes_per_second", factory: registry)
      .record(running.values.reduce(0) { $0 + $1.rate })
  }

  /// Records how many transfers are in each state.
  package static func record(_ counts: [TransferState: Int], in registry: MetricsRegistry) {
    for state in TransferState.allCases {
      Gauge(
        label: "haul_transfers", dimensions: [("state", state.rawValue)], factory: registry
      ).record(counts[state] ?? 0)
    }
  }

  /// Records for how long a run of the command line has been there.
  package static func record(seconds: Double, in registry: MetricsRegistry) {
    Gauge(label: "haul_run_seconds", factory: registry).record(seconds)
  }
}
