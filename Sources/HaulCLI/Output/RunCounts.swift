import HaulControl
import HaulCore

/// How the transfers of a run ended.
package struct RunCounts: Hashable, Sendable {
  package var completed = 0
  /// Whether files were uploaded, not downloaded.
  package var areUploads = false
  /// Completed files that already existed.
  package var skipped = 0
  package var failed = 0
  /// Failed ones that another run may complete.
  package var temporary = 0
  package var cancelled = 0
  package var paused = 0
  /// The lengths of the completed files, in bytes.
  package var bytes: Int64 = 0
  /// Bytes from the network.
  package var fetched: Int64 = 0
  package var duration: Duration = .zero

  package init() {}

  var ended: Int { completed + failed + cancelled }

  /// - Parameter state: as it counts in this run.
  mutating func count(_ result: TransferResult, as state: TransferResult.State) {
    fetched += result.fetched
    switch state {
    case .completed:
      completed += 1
      bytes += result.bytes
      if result.wasThere { skipped += 1 }
    case .failed:
      failed += 1
      if result.error?.isTemporary == true { temporary += 1 }
    case .cancelled: cancelled += 1
    }
  }
}

extension TransferResult {
  /// Whether the whole file was there before the run.
  var wasThere: Bool { reused > 0 && (fetched == 0 || isKeptUpload) }

  /// Whether it is an upload that has left the file of the server there. A store may have said that
  /// it has one only after the bytes were sent.
  var isKeptUpload: Bool {
    state == .completed && verified == nil && !isAdopted && bytes > 0 && reused == bytes
  }
}
