import HaulKit
import HaulLibC
import Synchronization

/// Counts the passages of each point, and kills the process at one of them.
final class CrashCounter: Sendable {
  private let counters = CrashPoint.allCases.map { _ in Counter() }
  private let last: (point: CrashPoint, number: Int)?

  private final class Counter: Sendable {
    let value = Atomic(0)
  }

  /// - Parameter point: `POINT:N`.
  init(diesAt point: String?) {
    let words = point?.split(separator: ":").map(String.init) ?? []
    last = words.count == 2 ? CrashPoint(rawValue: words[0]).map { ($0, Int(words[1]) ?? 0) } : nil
  }

  func pass(_ point: CrashPoint) {
    guard let index = CrashPoint.allCases.firstIndex(of: point) else { return }
    let number = counters[index].value.add(1, ordering: .relaxed).newValue
    if let last, last == (point, number) { Self.die() }
  }

  static func die() { kill(getpid(), SIGKILL) }

  var counts: [(CrashPoint, Int)] {
    zip(CrashPoint.allCases, counters).map { ($0, $1.value.load(ordering: .relaxed)) }
  }
}

/// Prints a line without a buffer, so that it is visible even if the process is killed.
func announce(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(1, bytes, bytes.count)
}

/// Prints the line unless the command was refused.
func announce(_ line: String, _ report: CommandReport) {
  if report.refused.isEmpty { announce(line) }
}
