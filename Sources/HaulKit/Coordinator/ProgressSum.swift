import HaulCore

/// The progress of a group.
struct ProgressSum {
  private var bytes: Int64 = 0
  private var total: Int64? = 0
  private var rate = 0.0
  private var connections = 0

  mutating func add(_ progress: TransferProgress?, isRunning: Bool) {
    bytes = bytes.addingUpToMaximum(progress?.bytes ?? 0)
    total = total.flatMap { sum in progress?.total.map { sum.addingUpToMaximum($0) } }
    guard isRunning, let progress else { return }
    rate += progress.rate
    connections += progress.connections
  }

  mutating func add(whole length: Int64) {
    bytes = bytes.addingUpToMaximum(length)
    total = total.map { $0.addingUpToMaximum(length) }
  }

  var progress: TransferProgress {
    TransferProgress(bytes: bytes, total: total, rate: rate, connections: connections)
  }
}

extension Int64 {
  /// The sum, or the maximum on overflow: servers may announce any length.
  fileprivate func addingUpToMaximum(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}
