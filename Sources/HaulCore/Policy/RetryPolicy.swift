/// When a failed attempt is made again.
public struct RetryPolicy: Sendable, Hashable {
  /// Attempts after the first; 0 turns retries off.
  public var retries = 8
  /// The longest time without progress before giving up.
  public var maximumTime: Duration = .seconds(3600)

  public init() {}
}
