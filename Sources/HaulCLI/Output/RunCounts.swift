package import HaulCore

/// How the transfers of a run ended.
package struct RunCounts: Hashable, Sendable {
  package var completed = 0
  /// Whether files were uploaded, not downloaded.
  package var areUploads = false
  /// Completed files that already existed.
  package var skipped = 0
  package var failed = 0
  package var cancelled = 0
  package var paused = 0
  /// The lengths of the completed files, in bytes.
  package var bytes: Int64 = 0
  /// Bytes from the network.
  package var fetched: Int64 = 0
  /// The first failures, with their reasons.
  package private(set) var failures: [Failure] = []
  package var duration: Duration = .zero

  package init() {}

  package struct Failure: Hashable, Sendable {
    package let url: ResourceURL
    package let reason: String
  }

  private static let maximumFailures = 20

  var ended: Int { completed + failed + cancelled }

  mutating func count(_ result: TransferResult, of url: ResourceURL?) {
    fetched += result.fetched
    switch result.state {
    case .completed:
      completed += 1
      bytes += result.bytes
      if result.fetched == 0, result.reused > 0 { skipped += 1 }
    case .failed:
      failed += 1
      guard failures.count < Self.maximumFailures, let url, let error = result.error else { return }
      failures.append(Failure(url: url, reason: error.commandLineText))
    case .cancelled: cancelled += 1
    }
  }
}
