public import HaulCore

/// Why there is no value.
public struct ResourceError: Error, Sendable {
  /// The kind of failure.
  public enum Reason: Sendable {
    /// The server, the network or the request; its code says which.
    case transfer(TransferError)
    /// The error of the decoder.
    case undecodable(any Error)
    /// Only the cache was asked, and it has no value that may be used.
    case notCached
    /// The waiting task was cancelled.
    case cancelled
  }

  /// The kind of failure.
  public let reason: Reason
  /// Until when the cache repeats this failure without asking the server, in seconds since 1970;
  /// nil if the next request asks at once.
  public let retryAt: Double?

  /// A failure.
  public init(_ reason: Reason, retryAt: Double? = nil) {
    self.reason = reason
    self.retryAt = retryAt
  }

  /// Whether the waiting task was cancelled.
  public var isCancelled: Bool {
    if case .cancelled = reason { true } else { false }
  }

  /// The error of the transfer, if it was one.
  public var transferError: TransferError? {
    if case .transfer(let error) = reason { error } else { nil }
  }

  func retrying(at time: Double) -> ResourceError { ResourceError(reason, retryAt: time) }
}

extension ResourceError: CustomStringConvertible {
  /// One line for people, without secrets.
  public var description: String {
    switch reason {
    case .transfer(let error): error.message
    case .undecodable: "the resource cannot be decoded"
    case .notCached: "the resource is not in the cache"
    case .cancelled: "the load was cancelled"
    }
  }
}
