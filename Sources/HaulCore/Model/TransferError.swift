/// Why a transfer did not succeed: a stable code, and one line for a person.
public struct TransferError: Error, Hashable, Sendable {
  /// What kind of failure it was. Raw values are part of the command line contract.
  public enum Code: String, CaseIterable, Sendable, Codable {
    case httpStatus = "http-status"
    case notFound = "not-found"
    case unauthorized
    case forbidden
    case needsNewURL = "needs-new-url"
    case changedOnServer = "changed-on-server"
    case rangeNotSatisfiable = "range-not-satisfiable"
    case checksumMismatch = "checksum-mismatch"
    case lengthMismatch = "length-mismatch"
    case diskFull = "disk-full"
    case permissionDenied = "permission-denied"
    case notARegularFile = "not-a-regular-file"
    case nameConflict = "name-conflict"
    case inUse = "in-use"
    case io
    case timeout
    case stalled
    case dns
    case connect
    case connectionLost = "connection-lost"
    case tls
    case proxy
    case protocolViolation = "protocol-violation"
    case redirectRefused = "redirect-refused"
    case tooManyRedirects = "too-many-redirects"
    case tooLarge = "too-large"
    case rateLimited = "rate-limited"
    case sourceChanged = "source-changed"
    case sourceUnreadable = "source-unreadable"
    case dependencyFailed = "dependency-failed"
    case interrupted
    case cancelled
    case badURL = "bad-url"
    case badName = "bad-name"
    case unsupportedScheme = "unsupported-scheme"
    case notYetSupported = "not-yet-supported"
    case `internal`
  }

  private struct Parts: Hashable, Sendable {
    let code: Code
    let message: String
    let status: Int?
    let isRetryable: Bool
    let retryAfter: Duration?
    var hindrance: Hindrance?
    var isOfRedirect = false
  }

  /// Shared: where there may be an error there mostly is none, and it is to take no room there.
  private var parts: Shared<Parts>

  /// What kind of failure it was.
  public var code: Code { parts.value.code }
  /// Why it failed and what to do, in one line, without the URL and without secrets.
  public var message: String { parts.value.message }
  /// The HTTP status behind it, if one was received.
  public var status: Int? { parts.value.status }
  /// Whether another attempt may succeed without anything being changed.
  public var isRetryable: Bool { parts.value.isRetryable }
  /// How long the server asked to be left alone (RFC 9110, section 10.2.3).
  package var retryAfter: Duration? { parts.value.retryAfter }
  /// What it comes from, where that may go away by itself.
  package var hindrance: Hindrance? { parts.value.hindrance }
  /// Whether the host that was asked led to another, which it is about.
  package var isOfRedirect: Bool { parts.value.isOfRedirect }

  package enum Hindrance: Hashable, Sendable {
    /// There is no room on the file system.
    case noRoom
    /// Nobody knows the host, or there is no way to it: as it is without a network too.
    case noRoute
    /// There is no network.
    case noNetwork
  }

  package init(
    _ code: Code, _ message: String, status: Int? = nil, isRetryable: Bool = false,
    retryAfter: Duration? = nil, hindrance: Hindrance? = nil
  ) {
    parts = Shared(
      Parts(
        code: code, message: message, status: status, isRetryable: isRetryable,
        retryAfter: retryAfter, hindrance: hindrance))
  }

  /// The same, of which it is known by now what it comes from.
  package func with(_ hindrance: Hindrance) -> TransferError {
    var error = self
    error.parts.value.hindrance = hindrance
    return error
  }

  /// The same, of what a redirect led to.
  package var ofRedirect: TransferError {
    var error = self
    error.parts.value.isOfRedirect = true
    return error
  }
}

extension TransferError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
