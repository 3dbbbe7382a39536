import FoundationEssentials
import HaulCore

/// Watches the memory of the system, and asks for a trim when there is too little.
///
/// It reads two small files every second: a trigger on them needs rights that programs in
/// containers often lack.
enum MemoryPressureMonitor {
  private static let interval: Duration = .seconds(1)

  /// Calls `trim` with the fraction of the limit to keep. Nil where the system has no such signal.
  static func start(
    clock: any TransferClock, _ trim: @escaping @Sendable (Double) -> Void
  ) -> Task<Void, Never>? {
    #if os(Linux)
      return Task { @concurrent in
        var judge = MemoryPressureJudge()
        let events = memoryEventsPath()
        var before = clock.now
        while !Task.isCancelled {
          let sample = MemorySample(
            pressure: text("/proc/pressure/memory"), events: events.flatMap { text($0) })
          guard sample.stalled != nil || sample.limitEvents != nil else { return }
          let now = clock.now
          switch judge.handle(sample, seconds: (now - before) / .seconds(1)) {
          case .none: break
          case .warning: trim(0.5)
          case .critical: trim(0)
          }
          before = now
          do { try await clock.sleep(until: now + interval) } catch { return }
        }
      }
    #else
      return nil
    #endif
  }

  /// The events of this process's own memory group (cgroup version 2).
  private static func memoryEventsPath() -> String? {
    text("/proc/self/cgroup")?.byteSplit(separator: "\n").first { $0.hasBytePrefix("0::") }
      .map { "/sys/fs/cgroup\($0.dropFirst(3))/memory.events" }
  }

  private static func text(_ path: String) -> String? {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}
