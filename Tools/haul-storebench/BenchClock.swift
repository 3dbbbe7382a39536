import HaulCore
import HaulLibC

/// The clock of this program.
struct BenchClock: TransferClock {
  private let start = ContinuousClock.now

  var now: Instant { Instant(ContinuousClock.now - start) }
  var wallSeconds: Double { Double(time(nil)) }

  func sleep(until instant: Instant) async throws {
    try await Task.sleep(for: instant - now)
  }
}

/// The memory of the process, in MiB: now, and its maximum so far.
struct ProcessMemory {
  private(set) var now = 0
  private(set) var peak = 0

  init() {
    guard let file = fopen("/proc/self/status", "re") else { return }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      let bytes = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
      let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      guard words.count > 1, let kibibytes = Int(words[1]) else { continue }
      if words[0] == "VmRSS:" { now = kibibytes / 1024 }
      if words[0] == "VmHWM:" { peak = kibibytes / 1024 }
    }
  }
}
