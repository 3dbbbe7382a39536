public import Logging

/// The rules of one transfer manager.
public struct Configuration: Sendable {
  /// Transfers that run at once.
  public var maximumActive = 8
  /// Transfers that run at once from one host.
  public var maximumActivePerHost = 4
  /// Connections to one host, all transfers together.
  public var connectionsPerHost = 16
  /// Connections of all transfers together.
  public var connectionsInAll = 64
  /// Bytes per second of all transfers together; nil for no limit.
  public var rateLimit: Int64?
  /// How long opening a connection may take.
  public var connectTimeout: Duration = .seconds(10)
  /// How long a connection may be silent.
  public var idleTimeout: Duration = .seconds(30)
  /// The most bytes of a stream that wait for its reader.
  package var streamWindow: Int64 = 32 << 20
  /// A PEM file of certificate authorities to trust instead of the system's.
  public var certificateAuthorities: String?
  /// Where the engine logs; silent by default.
  public var logger = Logger(label: "haul", factory: { _ in SwiftLogNoOpLogHandler() })

  /// The defaults.
  public init() {}
}
