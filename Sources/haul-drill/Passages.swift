import HaulKit
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Counts the passages of each point, and kills the process at one of them.
final class Passages: Sendable {
  private let counters = QueuePoint.allCases.map { _ in Counter() }
  private let last: (point: QueuePoint, number: Int)?

  private final class Counter: Sendable {
    let value = Atomic(0)
  }

  /// - Parameter place: `POINT:N`.
  init(diesAt place: String?) {
    let words = place?.split(separator: ":").map(String.init) ?? []
    last = words.count == 2 ? QueuePoint(rawValue: words[0]).map { ($0, Int(words[1]) ?? 0) } : nil
  }

  func pass(_ point: QueuePoint) {
    guard let index = QueuePoint.allCases.firstIndex(of: point) else { return }
    let number = counters[index].value.add(1, ordering: .relaxed).newValue
    if let last, last == (point, number) { Self.die() }
  }

  static func die() { kill(getpid(), SIGKILL) }

  var counts: [(QueuePoint, Int)] {
    zip(QueuePoint.allCases, counters).map { ($0, $1.value.load(ordering: .relaxed)) }
  }
}

/// Prints a line at once, so that it is seen even if the process is killed.
func announce(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(1, bytes, bytes.count)
}

/// The same, unless the command came too late.
func announce(_ line: String, _ report: CommandReport) {
  if report.refused.isEmpty { announce(line) }
}
