import HaulCore

/// What a run of an upload has reached: its result follows from this.
struct UploadOutcome {
  let started: Instant
  /// The length of all that is sent, in bytes; nil for a stream until its end was read.
  var length: Int64?
  /// The bytes that the server is known to have.
  var acknowledged: Int64 = 0
  /// Those that it had from earlier runs.
  var reused: Int64 = 0
  /// How the server of a remote source has encoded it, unasked; nil if it has not.
  var coding: String?
  /// The checksum that the server has computed of the file.
  var verified: Checksum?
  var reply: UploadReply?
  /// The last answer of the server.
  var response: TransferResponse?
  /// Whether another run has published the file.
  var isAdopted = false
  /// The file that the server had, and that stays there in place of this one.
  var present: PresentFile?

  /// - Parameter sent: the bytes of all attempts.
  func result(
    _ state: TransferResult.State, _ sent: Int64, at now: Instant, error: TransferError?
  ) -> TransferResult {
    ownResult(state, sent, at: now, error: error).noting(response)
  }

  private func ownResult(
    _ state: TransferResult.State, _ sent: Int64, at now: Instant, error: TransferError?
  ) -> TransferResult {
    let isWhole = state == .completed
    if isWhole, let present { return result(present, sent, at: now) }
    let result = TransferResult(
      state: state, bytes: isWhole ? length ?? acknowledged : acknowledged, fetched: sent,
      reused: reused, duration: now - started,
      checksums: isWhole ? [verified].compactMap(\.self) : [],
      verified: isWhole && !isAdopted ? (verified == nil ? .length : .checksum) : nil,
      coding: isWhole ? coding : nil, error: error)
    guard isWhole else { return result }
    // What another run has published is not what this one read.
    if isAdopted { return result.notingAdoption() }
    return result.noting(reply)
  }

  /// The result of a file that stays there.
  private func result(_ present: PresentFile, _ sent: Int64, at now: Instant) -> TransferResult {
    let bytes = present.length ?? length ?? 0
    return TransferResult(
      state: .completed, bytes: bytes, fetched: sent, reused: bytes, duration: now - started,
      checksums: present.checksums, verified: present.proof
    ).notingUnchanged()
  }
}
