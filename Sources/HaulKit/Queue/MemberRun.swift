import HaulCore

/// What the manager keeps of a run while it is under way.
struct MemberRun: Sendable {
  let context: RunContext
  /// What it transfers; nil for a step.
  var url: ResourceURL?
  /// Whether it is a step that did not end when it was told to: how it ends is of no interest then.
  var isCutShort = false
  /// What is to be done, on a thread for files, once its end is stored.
  var onceStored: (@Sendable () -> Void)?
}
