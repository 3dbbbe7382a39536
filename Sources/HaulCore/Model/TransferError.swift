public import FoundationEssentials

/// Why a transfer did not succeed: a stable code, and a fact with advice for people.
public struct TransferError: Error, Hashable, Sendable {
  /// The kind of failure. Raw values are part of the command line contract.
  public enum Code: String, CaseIterable, Sendable, Codable {
    case httpStatus = "http-status"
    case notFound = "not-found"
    case unauthorized
    /// Nothing was sent, because the server refuses the credentials.
    case notTried = "not-tried"
    case forbidden
    case needsNewURL = "needs-new-url"
    /// A page, perhaps for a login, came in place of the file.
    case webPage = "web-page"
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
    /// What was called for cannot be done: for a command on a transfer, `refusal` says why.
    case refused
    case `internal`
  }

  struct Parts: Hashable, Codable, Sendable {
    let code: Code
    var fact: String
    var advice: String?
    let status: Int?
    let isRetryable: Bool
    let retryAfter: Duration?
    var cause: Cause?
    var isOfRedirect = false
    var isOfSource = false
    var refusal: CommandRefusal?
    var remedy: Remedy?
  }

  /// Shared, because most results have no error and should not reserve memory for one.
  private var shared: CopyOnWriteBox<Parts>
  var parts: Parts { shared.value }

  init(_ parts: Parts) { shared = CopyOnWriteBox(parts) }

  /// The kind of failure.
  public var code: Code { shared.value.code }
  /// Why it failed, in one line, without the URL and without secrets.
  public var fact: String { shared.value.fact }
  /// What to do, or what explains the fact, in one line; nil if there is nothing to add.
  public var advice: String? { shared.value.advice }
  /// The fact and the advice in one line, separated by "; ".
  public var message: String {
    guard let advice else { return fact }
    return "\(fact); \(advice)"
  }
  /// The HTTP status behind it, if one was received.
  public var status: Int? { shared.value.status }
  /// Whether another attempt may succeed without any change.
  public var isRetryable: Bool { shared.value.isRetryable }
  /// How long the server asked to wait (RFC 9110, section 10.2.3).
  public var retryAfter: Duration? { shared.value.retryAfter }
  /// The same, if it is not over at once.
  package var pause: Duration? { retryAfter.flatMap { $0 > .zero ? $0 : nil } }
  /// Why a command had no effect on a transfer; nil for any code but `refused`.
  public var refusal: CommandRefusal? { shared.value.refusal }
  /// The cause, if it may disappear by itself, or says what is left.
  package var cause: Cause? { shared.value.cause }
  /// Whether it concerns the target of a redirect, not the requested host.
  package var isOfRedirect: Bool { shared.value.isOfRedirect }
  /// Whether it concerns the source of an upload, and says so.
  var isOfSource: Bool { shared.value.isOfSource }

  package enum Cause: String, Hashable, Codable, Sendable {
    /// There is no room on the file system.
    case noRoom
    /// The host is unknown, or there is no route to it; a missing network looks the same.
    case noRoute
    /// There is no network.
    case noNetwork
    /// The received bytes are no longer there.
    case lostBytes
    /// The store has no such bucket.
    case noBucket
    /// The reader of a stream has bytes that no other answer continues.
    case begunStream
    /// The host asked for a pause before the request was sent.
    case hostPaused
    /// The host refuses the credentials, so the request was not sent.
    case refusedCredentials
  }

  /// An error of this kind.
  /// - Parameters:
  ///   - code: the kind of failure.
  ///   - fact: why it failed, in one line, without secrets.
  ///   - advice: what to do, or what explains the fact.
  ///   - status: the HTTP status behind it, if one was received.
  ///   - isRetryable: whether another attempt may succeed without any change.
  ///   - retryAfter: how long the server asked to wait.
  public init(
    _ code: Code, _ fact: String, advice: String? = nil, status: Int? = nil,
    isRetryable: Bool = false, retryAfter: Duration? = nil
  ) {
    self.init(
      Parts(
        code: code, fact: fact, advice: advice, status: status, isRetryable: isRetryable,
        retryAfter: retryAfter))
  }

  /// A command had no effect on a transfer.
  package init(_ refusal: CommandRefusal) {
    let (fact, advice) = refusal.text
    self.init(.refused, fact, advice: advice)
    shared.value.refusal = refusal
  }

  /// The same error with other parts.
  func changing(_ change: (inout Parts) -> Void) -> TransferError {
    var error = self
    change(&error.shared.value)
    return error
  }

  /// The same error with a cause.
  package func with(_ cause: Cause?) -> TransferError { changing { $0.cause = cause } }

  /// The same error, with a text before its fact.
  package func prefixed(_ text: String) -> TransferError { changing { $0.fact = text + $0.fact } }

  /// The same error, whose fact says that it concerns the source of an upload.
  var saidOfSource: TransferError { changing { $0.isOfSource = true } }

  /// The same error, for the target of a redirect.
  package var ofRedirect: TransferError { changing { $0.isOfRedirect = true } }
}

extension TransferError {
  /// Whether what was in the way may pass by itself, so that another run of the same command may
  /// succeed. An error that spent its attempts stays one that is retried.
  package var isTemporary: Bool {
    switch code {
    case .diskFull, .inUse, .interrupted, .sourceChanged: true
    default: isRetryable
    }
  }

  /// The same error, with the number of attempts in its fact.
  func after(attempts: Int) -> TransferError {
    attempts > 1 ? changing { $0.fact += " after \(attempts) attempts" } : self
  }
}

extension TransferError {
  /// The file that has the name is not known to be that of the address. A token may select the
  /// file, so the next token makes another address.
  static func isAnotherFile(than url: ResourceURL) -> TransferError {
    let hasToken = url.resourceText != url.exactResourceText
    return TransferError(
      .nameConflict, "another file has that name",
      advice: hasToken
        ? "with another token in the address it counts as another file: if it is the same, replace "
          + "it" : "replace it, or give another name"
    ).remedied(by: hasToken ? .overwriting : .existingFile)
  }

  /// The same error, of a digest that the server stated and nobody else.
  var ofStatedDigest: TransferError {
    guard code == .checksumMismatch else { return self }
    return changing { parts in
      parts.fact = "the server stated a digest, and \(fact)"
      parts.advice = advice ?? "try again, or with the checksum that they must have"
      parts.remedy = .checksum
    }
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
