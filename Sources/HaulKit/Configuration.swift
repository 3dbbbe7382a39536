public import HaulCore
public import Logging

extension TransferManager {
  /// The rules of one transfer manager.
  public struct Configuration: Sendable {
    /// Transfers that run at once; with 0 nothing starts.
    public var maximumActive = 8
    /// Transfers that run at once from one host (name and port); nil for no limit except
    /// `maximumActive`. When all transfers use one host, the smaller of the two applies: raise
    /// both.
    public var maximumActivePerHost: Int? = 4
    /// Whether the list opens suspended: nothing starts before `TransferManager.unsuspend()`.
    public var isSuspended = false
    /// When transfers run; nil for always. See `TransferManager.setSchedule(_:)`.
    public var schedule: Schedule?
    /// Connections to one host, across all transfers; with 0 nothing starts.
    public var connectionsPerHost = 16
    /// Connections of all transfers; with 0 nothing starts.
    public var maximumConnections = 64
    /// Bytes per second of all transfers together; nil or 0 for no limit.
    public var rateLimit: Int64?
    /// How long opening a connection may take.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a connection may receive no bytes; after a silent attempt, twice as long.
    public var idleTimeout: Duration = .seconds(30)
    /// Whether a download waits when its disk is full or its file system is missing. If not, it
    /// fails with `disk-full` or `io`.
    public var waitsForDisk = true
    /// Whether a download waits while the machine has no network. If not, it fails as if its host
    /// were down. Streams never wait.
    public var waitsForNetwork = true
    /// Whether transfers wait for other credentials when their host has refused the same ones three
    /// times in a row. If not, they fail with `not-tried`. Streams never wait.
    public var waitsForCredentials = false
    /// The directory where the addresses of unfinished uploads are stored; created if missing. They
    /// are secrets, and each is in a file for its owner only. Nil: an upload continues after a
    /// pause, but not in the next process.
    public var uploadDirectory: String?
    /// An upload to the place of a store, under any name, that has the records of uploads in parts
    /// from remote sources too; nil for none.
    package var recordPlace: UploadRequest?
    /// Whether an upload of a remote source to a store fails if no condition can keep it from
    /// replacing what another run has published.
    package var requiresConditions = false
    /// The same for hosts that have a limit of their own, by name and port.
    package var maximumActiveOfHosts: [String: Int] = [:]
    /// Whether a person watches every transfer. If so, an unreachable host is reported within
    /// seconds.
    package var isAttended = false
    /// What all transfers share, for one command; nil if each has a session of its own.
    package var session: RunSession?
    /// The most bytes of a stream that are buffered for its reader.
    public var streamWindow: Int64 = 32 << 20
    /// The most events that are kept in memory for the slowest subscriber.
    package var eventLogLimit = 10_000
    /// The environment of the programs that are run; nil for that of this process.
    package var programEnvironment: [String: String]?
    /// Where the keys of roles are; nil if they are not asked for.
    package var keyAccess: S3KeyAccess?
    /// The `Authorization` field of a file with a token; nil if there is no such file. Called on a
    /// file thread.
    package var bearerField: (@Sendable (_ path: String) throws(TransferError) -> String?)?
    /// Test hooks.
    package var hooks = Hooks()
    /// A PEM file of certificate authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// The client certificate; nil for none.
    public var clientCertificate: ClientCertificate?
    /// The oldest TLS version that is allowed.
    public var minimumTLS: TLSVersion = .tls12
    /// When HTTP/2 is used; additional ranges of a transfer always use HTTP/1.1.
    public var httpVersion: HTTPVersion = .automatic
    /// Which requests use which proxy; none by default.
    public var proxies = ProxyRules()
    /// The only address family to connect to; nil for both.
    public var addressFamily: AddressFamily?
    /// The local address to connect from.
    public var localAddress: String?
    /// Addresses to use for hosts instead of DNS; host names in lower case.
    public var addresses: [String: String] = [:]
    /// Whether a public host may not redirect to this machine or a private network. For services
    /// that download on behalf of others; `haul serve` sets it.
    public var refusesPrivateRedirects = false
    /// Signs each request before it is sent, and again when the server refuses it. The header
    /// fields that it returns are sent, but neither stored nor logged.
    public var prepare: RequestPreparation?
    /// Judges each answer to a download before its bytes are used, also those of further ranges and
    /// after redirects; only those with a status of 200 to 299. If it throws, the transfer fails: a
    /// `TransferError` as it is, any other error as `refused`. Called from several tasks at once.
    public var validate: (@Sendable (TransferResponse) async throws -> Void)?
    /// Whether a download follows a redirect; if not, it fails with `redirect-refused`. Nil follows
    /// all that are allowed: it can only forbid more. Not called by a transport of your own.
    public var followsRedirect: RedirectHandler?
    /// Header fields of requests that have none of the same name; they become part of a transfer
    /// when it is added.
    public var headers = HeaderFields()
    /// The retries of requests that have the default policy; they become part of a transfer when it
    /// is added.
    public var retry = RetryPolicy()
    /// The value of `User-Agent`.
    public var userAgent = "haul"
    /// Where the engine logs; silent by default.
    public var logger = Logger(label: "haul", factory: { _ in SwiftLogNoOpLogHandler() })

    /// Whether the redirect between two addresses is followed.
    public typealias RedirectHandler =
      @Sendable (_ from: ResourceURL, _ to: ResourceURL) -> Bool

    /// The defaults.
    public init() {}

    /// When HTTP/2 is used with https servers that support it.
    public enum HTTPVersion: Hashable, Sendable {
      /// For the first request of a transfer when other transfers of its host wait or run.
      case automatic
      /// Never.
      case http1
      /// For the first request of every transfer.
      case http2
    }
  }
}
