public import FoundationEssentials

/// Why a transfer did not succeed: a stable code, and one line for people.
public struct TransferError: Error, Hashable, Sendable {
  /// The kind of failure. Raw values are part of the command line contract.
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
    /// A command had no effect on a transfer; `refusal` says why.
    case refused
    case `internal`
  }

  struct Parts: Hashable, Codable, Sendable {
    let code: Code
    var message: String
    let status: Int?
    let isRetryable: Bool
    let retryAfter: Duration?
    var cause: Cause?
    var isOfRedirect = false
    var refusal: CommandRefusal?
    var remedy: Remedy?
  }

  /// Shared, because most results have no error and should not reserve memory for one.
  private var shared: CopyOnWriteBox<Parts>
  var parts: Parts { shared.value }

  init(_ parts: Parts) { shared = CopyOnWriteBox(parts) }

  /// The kind of failure.
  public var code: Code { shared.value.code }
  /// Why it failed and what to do, in one line, without the URL and without secrets.
  public var message: String { shared.value.message }
  /// The HTTP status behind it, if one was received.
  public var status: Int? { shared.value.status }
  /// Whether another attempt may succeed without any change.
  public var isRetryable: Bool { shared.value.isRetryable }
  /// How long the server asked to wait (RFC 9110, section 10.2.3).
  public var retryAfter: Duration? { shared.value.retryAfter }
  /// Why a command had no effect on a transfer; nil for any code but `refused`.
  public var refusal: CommandRefusal? { shared.value.refusal }
  /// The cause, if it may disappear by itself.
  package var cause: Cause? { shared.value.cause }
  /// Whether it concerns the target of a redirect, not the requested host.
  package var isOfRedirect: Bool { shared.value.isOfRedirect }

  package enum Cause: String, Hashable, Codable, Sendable {
    /// There is no room on the file system.
    case noRoom
    /// The host is unknown, or there is no route to it; a missing network looks the same.
    case noRoute
    /// There is no network.
    case noNetwork
  }

  /// An error of this kind.
  /// - Parameters:
  ///   - code: the kind of failure.
  ///   - message: why it failed and what to do, in one line, without secrets.
  ///   - status: the HTTP status behind it, if one was received.
  ///   - isRetryable: whether another attempt may succeed without any change.
  ///   - retryAfter: how long the server asked to wait.
  public init(
    _ code: Code, _ message: String, status: Int? = nil, isRetryable: Bool = false,
    retryAfter: Duration? = nil
  ) {
    self.init(
      code, message, status: status, isRetryable: isRetryable, retryAfter: retryAfter,
      cause: nil)
  }

  package init(
    _ code: Code, _ message: String, status: Int? = nil, isRetryable: Bool = false,
    retryAfter: Duration? = nil, cause: Cause?
  ) {
    self.init(
      Parts(
        code: code, message: message, status: status, isRetryable: isRetryable,
        retryAfter: retryAfter, cause: cause))
  }

  /// A command had no effect on a transfer.
  package init(_ refusal: CommandRefusal) {
    self.init(.refused, refusal.message)
    shared.value.refusal = refusal
  }

  /// The same error with a cause.
  package func with(_ cause: Cause) -> TransferError {
    var error = self
    error.shared.value.cause = cause
    return error
  }

  /// The same error, with a text before its message.
  package func prefixed(_ text: String) -> TransferError {
    var old = parts
    old.message = text + old.message
    return TransferError(old)
  }

  /// The same error, for the target of a redirect.
  package var ofRedirect: TransferError {
    var error = self
    error.shared.value.isOfRedirect = true
    return error
  }
}

extension TransferError {
  /// The same error, with the number of attempts in its message.
  func after(attempts: Int) -> TransferError {
    guard attempts > 1 else { return self }
    // The advice comes last in a message.
    let reason = message.prefix(beforeAnyOf: ";")
    var parts = parts
    parts.message = "\(reason) after \(attempts) attempts\(message[reason.endIndex...])"
    return TransferError(parts)
  }
}

extension TransferError: LocalizedError {
  /// The message.
  public var errorDescription: String? { message }
}

extension TransferError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

extension TransferError.Code: CustomStringConvertible {
  /// The raw value, such as `http-status`.
  public var description: String { rawValue }
}

extension TransferError: CustomReflectable {
  /// Its fields.
  public var customMirror: Mirror {
    Mirror(self, children: Mirror(reflecting: parts).children, displayStyle: .struct)
  }
}
