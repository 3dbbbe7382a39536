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
