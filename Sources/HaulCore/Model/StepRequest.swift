/// Local work in the queue: a plain value; nothing runs until it is added.
public struct StepRequest: Sendable, Hashable, Codable {
  /// What runs.
  public enum Action: Sendable, Hashable, Codable {
    /// The closure registered under this name with `TransferManager.register(step:)`, also after a
    /// restart.
    case named(String, input: String? = nil)
    /// A program with its arguments, run without a shell in this directory (nil: the working
    /// directory of the process that adds it). A name without a slash is looked up in `PATH`.
    ///
    /// Its standard input is empty. Exit code 0 completes the step; any other fails it. It is
    /// stored as given, and other users can see the arguments of running programs: do not pass
    /// secrets.
    case program([String], directory: String? = nil)
  }

  /// What runs.
  public var action: Action
  /// Whether it may run again if the process died while it ran; otherwise it fails with
  /// `interrupted`.
  public var isIdempotent = false

  /// A step that is not idempotent.
  public init(_ action: Action) { self.action = action }
}
