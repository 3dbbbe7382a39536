/// A local piece of work in the queue: a plain value; nothing runs until it is added.
public struct StepRequest: Sendable, Hashable, Codable {
  /// What is run.
  public enum Action: Sendable, Hashable, Codable {
    /// The closure registered under this name with `TransferManager.register(step:)`, also after a
    /// restart.
    case named(String, input: String? = nil)
    /// A program with its arguments, run without a shell in this directory (nil: that of the
    /// process that adds it). A name without a slash is looked up in `PATH`.
    ///
    /// Its standard input is empty. Exit code 0 completes the step; with any other it has failed.
    /// It is stored as it stands here, and others on the machine can see the arguments of what
    /// runs: no place for secrets.
    case program([String], directory: String? = nil)
  }

  /// What is run.
  public var action: Action
  /// Whether it may be run again when the process died while it ran; otherwise it is failed with
  /// `interrupted`.
  public var isIdempotent = false

  /// A step that is not idempotent.
  public init(_ action: Action) { self.action = action }
}
