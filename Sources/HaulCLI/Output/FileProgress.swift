package import HaulCore

/// What is known of one transfer at one moment.
package struct FileProgress: Hashable, Sendable {
  /// The name to show; from outside.
  package var name: String
  package var phase: TransferEvent.Phase
  package var progress: Progress?
  package var hasEnded: Bool

  package init(
    name: String, phase: TransferEvent.Phase = .waiting, progress: Progress? = nil,
    hasEnded: Bool = false
  ) {
    self.name = name
    self.phase = phase
    self.progress = progress
    self.hasEnded = hasEnded
  }

  /// Whether it has something to show now.
  var isActive: Bool { !hasEnded && phase != .waiting }
}

extension Progress {
  /// Whole percent: nil for an unknown length, 100 only when every byte is there.
  package var percent: Int? {
    guard let total, total >= 0 else { return nil }
    if bytes >= total { return 100 }
    return min(99, max(0, Int(Double(bytes) / Double(total) * 100)))
  }
}
