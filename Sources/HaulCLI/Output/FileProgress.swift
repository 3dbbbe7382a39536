package import HaulCore

/// The state of one transfer at one moment.
package struct FileProgress: Hashable, Sendable {
  /// The name to show; untrusted text.
  package var name: String
  /// Nil while it waits.
  package var phase: TransferEvent.Phase?
  package var progress: TransferProgress?
  package var hasEnded: Bool
  /// Its bytes on disk when it began.
  var firstBytes: Int64?
  /// The countdown to the next attempt.
  package var retry: Retry?

  /// A countdown.
  package struct Retry: Hashable, Sendable {
    /// When it ends, since the run began.
    package var end: Duration
    package var reason: String

    package init(end: Duration, reason: String) {
      self.end = end
      self.reason = reason
    }
  }

  package init(
    name: String, phase: TransferEvent.Phase? = nil, progress: TransferProgress? = nil,
    hasEnded: Bool = false, retry: Retry? = nil
  ) {
    self.name = name
    self.phase = phase
    self.progress = progress
    self.hasEnded = hasEnded
    self.retry = retry
  }

  /// Its part of the totals.
  struct Share: Equatable {
    let isActive: Bool
    let hasEnded: Bool
    let bytes: Int64
    /// Nil while it is unknown.
    let length: Int64?
  }

  var share: Share {
    Share(
      isActive: isActive, hasEnded: hasEnded, bytes: max(0, progress?.bytes ?? 0),
      length: progress?.total.map { max(0, $0) })
  }

  /// Whether it has something to show now.
  var isActive: Bool { !hasEnded && (phase != nil || retry != nil) }
}
