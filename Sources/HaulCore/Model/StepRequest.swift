/// Local work in the queue. It is a plain value: nothing runs until it is added.
public struct StepRequest: Sendable, Hashable, Codable {
  /// What runs.
  public enum Action: Sendable, Hashable, Codable {
    /// The closure that is registered under this name with `TransferManager.register(step:)`; it
    /// must be registered again after a restart.
    case named(String, input: String? = nil)
    /// A program with its arguments, run without a shell in this directory; nil for the working
    /// directory of the process that adds it. A name without a slash is looked up in `PATH`.
    ///
    /// Its standard input is empty. Exit code 0 completes the step; any other fails it. It is
    /// stored as given, and other users can see the arguments of running programs: do not pass
    /// secrets.
    case program([String], directory: String? = nil)
  }

  /// What runs.
  public var action: Action
  /// Whether it may run again after the process died while it ran. Otherwise it fails with
  /// `interrupted`.
  public var isIdempotent = false

  /// A step that is not idempotent.
  public init(_ action: Action) { self.action = action }
}
