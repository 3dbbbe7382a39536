package import HaulCore

/// The state of one transfer at one moment.
package struct FileProgress: Hashable, Sendable {
  /// The path of the file, or a name; untrusted text.
  package var path: String
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
    path = name
    self.phase = phase
    self.progress = progress
    self.hasEnded = hasEnded
    self.retry = retry
  }

  /// The name to show; untrusted text.
  package var name: String { Self.lastComponent(path) }

  /// The last component of a path or an address without a query; all of it if there is none.
  static func lastComponent(_ text: String) -> String {
    let path = Array(text.utf8)
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return text }
    let name = path[(slash + 1)...]
    return name.isEmpty ? text : String(decoding: name, as: UTF8.self)
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
