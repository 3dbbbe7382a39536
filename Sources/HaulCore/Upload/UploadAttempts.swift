/// The attempts of one upload, whatever its protocol: decides whether and when another one is made.
package struct UploadAttempts: Sendable {
  /// The health of the host, when it last did not answer.
  private var hostHealth = HostHealth()
  /// Whether bytes of a stream were sent that are no longer held: they cannot be sent again.
  package var isSpent = false
  /// Whether an attempt without an answer, or an earlier run, may have succeeded.
  var mayHaveArrived: Bool
  /// Whether an upload that the server no longer had was replaced by a new one: once in a run.
  var hasStartedOver = false
  /// The time of the event that is handled, and what is random in it.
  private(set) var now: Instant
  var random = SplitMix64(seed: 0)
  let isAttended: Bool
  private var retry: RetryState
  /// How many have failed since the last progress, with the present one.
  var failures: Int { retry.attempts + 1 }
  private var hasAnswered = false
  /// The bytes that the server had at the last failure.
  private var acknowledged: Int64 = 0
  /// Whether another run can read the source again.
  private let isRemote: Bool
  /// The bytes that it had of the last file that it took, if those were not all.
  private var stored: Int64?

  package init(
    _ request: UploadRequest, hasRun: Bool = false, isAttended: Bool, now: Instant
  ) {
    (mayHaveArrived, self.isAttended, self.now) = (hasRun, isAttended, now)
    retry = RetryState(request.retry, startedAt: now)
    isRemote = request.download != nil
  }

  init(_ start: UploadStart, hasRun: Bool = false) {
    self.init(start.request, hasRun: hasRun, isAttended: start.isAttended, now: start.now)
  }

  /// An event is handled.
  package mutating func begin(
    at now: Instant, hostHealth: HostHealth? = nil, using rng: inout some RandomNumberGenerator
  ) {
    (self.now, random) = (now, SplitMix64(seed: rng.next()))
    if let hostHealth { self.hostHealth = hostHealth }
  }

  /// Takes what holds for the present event from the machine that passes it on.
  mutating func follow(_ outer: UploadAttempts) {
    (hostHealth, isSpent) = (outer.hostHealth, outer.isSpent)
    (now, random) = (outer.now, outer.random)
  }

  /// The same error of an upload whose source was read, and is not held any more.
  func spent(_ error: TransferError) -> TransferError {
    let advice =
      "what was read of the source is gone: "
      + (isRemote ? "another run reads it again" : "upload it from its beginning")
    return TransferError(
      error.code, error.fact, advice: advice, status: error.status,
      isRetryable: isRemote && error.isRetryable)
  }

  /// The server has another file there.
  func conflict(status: Int) -> TransferError {
    .isStoredAlready(perhapsByThis: mayHaveArrived, status: status)
  }

  /// The server has answered a request.
  mutating func noteAnswer() { hasAnswered = true }

  /// The server has another number of bytes than it was sent. Another attempt may arrive whole; but
  /// a server that has made the same of two does so with each.
  mutating func mismatch(_ found: Int64, of length: Int64) -> TransferError {
    defer { stored = found }
    let error = StoredLength.mismatch(found, of: length)
    guard stored == found else { return error }
    return error.advising("some servers change what they are sent: compare what is there")
  }

  /// A new upload begins, of which the server has nothing.
  mutating func forgetProgress() { acknowledged = 0 }

  /// - Parameters:
  ///   - progress: how many bytes of the file the server has, and the length of the file; nil if
  ///     each attempt sends the whole file.
  ///   - sendsAgain: whether another attempt would send bytes of the source.
  /// - Returns: the command to try again, or why the upload fails.
  package mutating func failed(
    _ error: TransferError, progress: (acknowledged: Int64, length: Int64)? = nil,
    sendsAgain: Bool = true
  ) -> Result<UploadCommand, TransferError> {
    guard !isSpent || !sendsAgain || !error.isRetryable else {
      return .failure(spent(error).after(attempts: failures))
    }
    var failure = RetryState.Failure(
      error, unresponsiveHost: error.isHostUnresponsive && !hasAnswered ? hostHealth : nil,
      hasAnswered: hasAnswered, isAttended: isAttended)
    if let progress {
      failure.progressBytes = max(0, progress.acknowledged - acknowledged)
      failure.remaining = progress.length - acknowledged
      acknowledged = progress.acknowledged
    }
    switch retry.failed(failure, at: now, using: &random) {
    case .giveUp: return .failure(retry.last(error))
    case .retry(let delay, let attempt):
      return .success(.retry(after: delay, attempt: attempt, error))
    }
  }
}

extension TransferError {
  /// Whether a request may have reached the server.
  var hadConnection: Bool { ![.dns, .connect, .tls, .proxy].contains(code) }

  /// The server has another file there, which an earlier attempt of the upload may have stored.
  static func isStoredAlready(perhapsByThis mayHaveArrived: Bool, status: Int) -> TransferError {
    TransferError(
      .nameConflict, "the server has a file there already",
      advice: mayHaveArrived ? comparing : nil, status: status)
  }

  static let refusedCondition = TransferError(
    .httpStatus, "the server refuses a condition that holds", status: 412, isRetryable: true)

  /// The server has another file there than the condition of the upload names.
  static let isReplaced = TransferError(
    .nameConflict, "the server has another file there than when the upload began",
    advice: "upload it again to replace that", status: 412)

  /// The same, and nothing tells it from what this run would have stored.
  static let isPerhapsReplaced = TransferError(
    isReplaced.code, isReplaced.fact,
    advice: "it may be that of another run: compare it, or upload it again to replace it",
    status: 412)

  /// The same, of a refusal that may be about this field.
  func suspecting(_ field: String) -> TransferError {
    changing { $0.fact += ", perhaps because of \(field)" }
  }

  /// The advice where this upload may conflict with itself.
  static let comparing = "an earlier attempt of this upload may have stored it: compare it"

  /// The same, which another attempt may not meet.
  var retryable: TransferError {
    TransferError(code, fact, advice: advice, status: status, isRetryable: true).with(cause)
  }

  /// The same, if it answers a question: what a server cannot say now (5xx), it may say later.
  var ofQuestion: TransferError {
    guard let status, status >= 500 else { return self }
    return (isRetryable ? self : retryable).changing {
      $0.fact += " to the question what it has there"
    }
  }

  /// The same for good, with this advice.
  func advising(_ advice: String) -> TransferError {
    TransferError(code, fact, advice: advice, status: status)
  }
}

extension UploadRequest {
  /// The fields of a request that must have an effect only under the condition of the upload.
  var condition: [(String, String)] {
    switch precondition {
    case .none: []
    case .absent: [("If-None-Match", "*")]
    case .entityTag(let tag): [("If-Match", tag)]
    }
  }

  /// The address that a server has chosen for the upload.
  /// - Throws: `protocol-violation` with this message if it has chosen none; `redirect-refused`.
  func target(
    in head: ResponseHead, orElse missing: String
  ) throws(TransferError) -> ResourceURL {
    guard let location = head.headers["Location"] else {
      throw TransferError(.protocolViolation, missing)
    }
    return try url.uploadTarget(named: location)
  }

  /// The address of an unfinished upload; nil if it cannot be read, or may not be used.
  func address(of record: UploadRecord) -> ResourceURL? { address(of: record.address) }

  /// The same, of what a record has.
  func address(of stored: String) -> ResourceURL? {
    try? url.uploadTarget(named: stored)
  }
}
