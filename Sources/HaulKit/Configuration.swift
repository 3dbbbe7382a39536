public import HaulCore
public import Logging

extension TransferManager {
  /// The rules of one transfer manager.
  public struct Configuration: Sendable {
    /// Transfers that run at once; with 0 nothing starts.
    public var maximumActive = 8
    /// Transfers that run at once from one host, which is a name and a port; nil for no other cap
    /// than `maximumActive`. With all transfers from one host the smaller of the two numbers is how
    /// many run: raise both.
    public var maximumActivePerHost: Int? = 4
    /// Whether nothing starts before `TransferManager.unsuspend()`.
    public var isSuspended = false
    /// When transfers run; nil for always. See `TransferManager.setSchedule(_:)`.
    public var schedule: Schedule?
    /// Connections to one host, all transfers together; with 0 nothing starts.
    public var connectionsPerHost = 16
    /// Connections of all transfers together; with 0 nothing starts.
    public var connectionsInAll = 64
    /// Bytes per second of all transfers together; nil for no limit.
    public var rateLimit: Int64?
    /// How long opening a connection may take.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a connection may be silent.
    public var idleTimeout: Duration = .seconds(30)
    /// Whether a download for whose bytes there is no room, or whose file system is gone, waits
    /// until that is otherwise; else it fails with `disk-full` or `io`.
    public var waitsForDisk = true
    /// Whether a download waits for the network while there is none at all; else it fails as if its
    /// host were away. Streams never wait.
    public var waitsForNetwork = true
    /// Whether a person waits for every transfer: a host that cannot be reached is reported within
    /// seconds.
    package var isAttended = false
    /// The most bytes of a stream that wait for its reader.
    package var streamWindow: Int64 = 32 << 20
    /// The most events that wait in memory for the slowest subscriber.
    package var keptEvents = 10_000
    /// Where tests watch.
    package var hooks = Hooks()
    /// A PEM file of certificate authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// What a client shows of itself; nil for nothing.
    public var clientCertificate: ClientCertificate?
    /// The oldest version of TLS that is spoken.
    public var minimumTLS: TLSVersion = .tls12
    /// When HTTP/2 is spoken; further ranges of a transfer always go over HTTP/1.1.
    public var httpVersion: HTTPVersion = .automatic
    /// Which requests go through which proxy; none unless told.
    public var proxies = ProxyRules()
    /// The only family of addresses to connect to, when not nil.
    public var addressFamily: AddressFamily?
    /// The address of this machine that connections come from.
    public var localAddress: String?
    /// Addresses of hosts that are not to be looked up; names in lower case.
    public var addresses: [String: String] = [:]
    /// Signs each request before it is sent, and makes anew what it signs with when the server
    /// refuses a request. What it gives is sent, and neither stored nor logged.
    public var prepare: RequestPreparation?
    /// The value of `User-Agent`.
    public var userAgent = "haul"
    /// Where the engine logs; silent by default.
    public var logger = Logger(label: "haul", factory: { _ in SwiftLogNoOpLogHandler() })

    /// The defaults.
    public init() {}

    /// When HTTP/2 is spoken with https servers that know it.
    public enum HTTPVersion: Hashable, Sendable {
      /// For the first request of a transfer, when others of its host are waiting or running.
      case automatic
      /// Never.
      case http1
      /// For the first request of every transfer.
      case http2
    }
  }
}
