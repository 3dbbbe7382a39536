import HaulCore

/// How a transfer ended.
struct StoredResult: Codable, Hashable {
  var state: String
  var path: String?
  var bytes: Int64?
  var fetched: Int64?
  var reused: Int64?
  var duration: StoredDuration?
  /// Separated by spaces.
  var checksum: String?
  var verified: String?
  var coding: String?
  var error: StoredError?
  var firstAnswer: StoredDuration?
  var requests: Int?
  var retries: Int?
  var isAdopted: Bool?
  var isUnchanged: Bool?
  var kept: String?
  /// In the event of the end that completes a group.
  var group: GroupEnd?

  init(_ result: TransferResult) {
    state = result.state.rawValue
    path = result.path
    bytes = nilIfEqual(result.bytes, to: 0)
    fetched = nilIfEqual(result.fetched, to: 0)
    reused = nilIfEqual(result.reused, to: 0)
    duration = nilIfEqual(result.duration, to: .zero).map(StoredDuration.init)
    checksum = result.checksums.words
    verified = result.verified?.rawValue
    coding = result.coding
    error = result.error.map(StoredError.init)
    firstAnswer = result.metrics?.timeToFirstResponse.map(StoredDuration.init)
    requests = result.metrics?.requests
    retries = result.metrics.flatMap { nilIfEqual($0.retries, to: 0) }
    isAdopted = nilIfEqual(result.isAdopted, to: false)
    isUnchanged = nilIfEqual(result.isUnchanged, to: false)
    kept = result.kept
  }

  /// - Throws: `io` for a value that this version does not know.
  func result() throws(TransferError) -> TransferResult {
    guard let state = TransferResult.State(rawValue: state) else { throw .unreadable("a result") }
    let verified = verified.flatMap(TransferResult.Verification.init)
    guard (verified == nil) == (self.verified == nil) else { throw .unreadable("a verification") }
    guard let checksums = (checksum ?? "").checksums else { throw .unreadable("a checksum") }
    var result = TransferResult(
      state: state, path: path, bytes: bytes ?? 0, fetched: fetched ?? 0, reused: reused ?? 0,
      duration: duration?.duration ?? .zero, checksums: checksums,
      verified: verified, coding: coding,
      error: try error.map { error throws(TransferError) in try error.error() },
      metrics: requests.map { requests in
        TransferMetrics(
          timeToFirstResponse: firstAnswer?.duration, requests: requests, retries: retries ?? 0)
      })
    if isAdopted == true { result = result.notingAdoption() }
    if isUnchanged == true { result = result.notingUnchanged() }
    return result.noting(kept: kept)
  }
}

/// Why a transfer, or an attempt, failed.
struct StoredError: Codable, Hashable {
  var code: String
  /// The fact. Earlier versions wrote the advice into it too.
  var message: String
  var advice: String?
  var status: Int?
  var isRetryable: Bool?
  var retryAfter: StoredDuration?

  init(_ error: TransferError) {
    code = error.code.rawValue
    message = error.fact
    advice = error.advice
    status = error.status
    isRetryable = nilIfEqual(error.isRetryable, to: false)
    retryAfter = error.retryAfter.map(StoredDuration.init)
  }

  /// - Throws: `io` for a code that this version does not know.
  func error() throws(TransferError) -> TransferError {
    guard let code = TransferError.Code(rawValue: code) else { throw .unreadable("an error code") }
    return TransferError(
      code, message, advice: advice, status: status, isRetryable: isRetryable ?? false,
      retryAfter: retryAfter?.duration)
  }
}
