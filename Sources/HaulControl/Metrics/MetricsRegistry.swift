package import CoreMetrics
import HaulCore
import NIOConcurrencyHelpers

/// Collects metrics of swift-metrics, and writes them in the text format of Prometheus (0.0.4).
package final class MetricsRegistry: Sendable {
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  fileprivate struct Series: Hashable {
    var name: String
    /// As `{name="value"}`; empty for none.
    var labels: String
  }

  private struct State {
    var counters: [Series: Int64] = [:]
    var gauges: [Series: Double] = [:]
    /// Number and sum.
    var summaries: [Series: (count: Int, seconds: Double)] = [:]
  }

  private let state = NIOLockedValueBox(State())

  package init() {}

  fileprivate func add(_ amount: Int64, to series: Series) {
    state.withLockedValue { $0.counters[series, default: 0] += amount }
  }

  fileprivate func set(_ value: Double, of series: Series) {
    state.withLockedValue { $0.gauges[series] = value }
  }

  fileprivate func record(_ nanoseconds: Int64, in series: Series) {
    state.withLockedValue { state in
      let (count, seconds) = state.summaries[series] ?? (0, 0)
      state.summaries[series] = (count + 1, seconds + Double(nanoseconds) / 1e9)
    }
  }

  /// All metrics, sorted by name.
  package var text: String {
    let state = state.withLockedValue { $0 }
    return Self.lines(state.counters, "counter") { ["\($0.name)\($0.labels) \($1)"] }
      + Self.lines(state.gauges, "gauge") { ["\($0.name)\($0.labels) \($1)"] }
      + Self.lines(state.summaries, "summary") { series, sum in
        [
          "\(series.name)_count\(series.labels) \(sum.count)",
          "\(series.name)_sum\(series.labels) \(sum.seconds)",
        ]
      }
  }

  private static func lines<Value>(
    _ values: [Series: Value], _ type: String, _ lines: (Series, Value) -> [String]
  ) -> String {
    var (text, name) = ("", "")
    for (series, value) in values.sorted(by: { $0.key < $1.key }) {
      if series.name != name { text += "# TYPE \(series.name) \(type)\n" }
      name = series.name
      text += lines(series, value).map { $0 + "\n" }.joined()
    }
    return text
  }
}

extension MetricsRegistry.Series: Comparable {
  fileprivate init(_ label: String, _ dimensions: [(String, String)]) {
    let pairs = dimensions.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
    self.init(name: label, labels: pairs.isEmpty ? "" : "{\(pairs)}")
  }

  private static func escaped(_ text: String) -> String {
    text.replacingBytes("\\", with: "\\\\").replacingBytes("\"", with: "\\\"")
      .replacingBytes("\n", with: "\\n")
  }

  fileprivate static func < (left: Self, right: Self) -> Bool {
    (left.name, left.labels) < (right.name, right.labels)
  }
}

extension MetricsRegistry: MetricsFactory {
  private final class Handler: CounterHandler, RecorderHandler, TimerHandler {
    let registry: MetricsRegistry
    let series: Series

    init(_ registry: MetricsRegistry, _ label: String, _ dimensions: [(String, String)]) {
      (self.registry, series) = (registry, Series(label, dimensions))
    }

    func increment(by amount: Int64) { registry.add(amount, to: series) }
    func record(_ value: Int64) { registry.set(Double(value), of: series) }
    func record(_ value: Double) { registry.set(value, of: series) }
    func recordNanoseconds(_ duration: Int64) { registry.record(duration, in: series) }
    func reset() {}
  }

  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    Handler(self, label, dimensions)
  }

  package func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    Handler(self, label, dimensions)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    Handler(self, label, dimensions)
  }

  package func destroyCounter(_ handler: any CounterHandler) {}
  package func destroyRecorder(_ handler: any RecorderHandler) {}
  package func destroyTimer(_ handler: any TimerHandler) {}
}
