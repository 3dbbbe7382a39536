/// What an upload knows of the file that it would replace. Several runs of the transfer of a remote
/// source may publish at the same time, on any machine: no older version may replace a newer one.
struct Publication<Found: Sendable>: Sendable {
  /// Whether there may be such runs, or the upload depends on what is there. A file of this machine
  /// is no transfer of another one.
  private(set) var publishesOnce = false
  /// Whether the server was not asked yet.
  private(set) var isUnasked = false
  /// What it had before the first byte of the source was read; nil if it does not say it.
  private(set) var beginning: Found?
  /// Whether the first bytes of the source were read.
  var isRead = true
  /// Whether the server did not answer what it has, last.
  private var hasAskedInVain = false

  /// Of an upload that no other run competes with.
  init() {}

  init(_ request: UploadRequest) {
    publishesOnce = request.download != nil || request.asksForExisting
    (isUnasked, isRead) = (publishesOnce, request.download == nil)
  }

  /// Of an upload that goes on in another way.
  init(beginning: Found?) { (publishesOnce, self.beginning) = (true, beginning) }

  /// The server was asked; its answer stays for each attempt.
  mutating func keep(_ beginning: Found?) {
    if publishesOnce { (isUnasked, self.beginning) = (false, beginning) }
  }

  /// Some servers do not answer the question at all. Once more; then the upload goes on, and does
  /// not know what is there.
  mutating func goesOn(after error: TransferError) -> Bool {
    defer { hasAskedInVain = error.leavesQuestionOpen }
    guard hasAskedInVain, error.leavesQuestionOpen else { return false }
    keep(nil)
    return true
  }
}

/// An upload beside which other runs may publish the file.
protocol PublishingUpload: StatefulUpload {
  var request: UploadRequest { get }
  /// In bytes; nil for a stream until its end was sent.
  var length: Int64? { get }
  var isStream: Bool { get }
  /// Whether the file that is there may be of an earlier attempt.
  var mayBeOwn: Bool { get }
  func conflict(_ status: Int) -> TransferError
  mutating func end(_ end: UploadEnd) -> [UploadCommand]
}

extension PublishingUpload {
  /// Computes what the server says of its file. Only a file that is held as a whole can be read
  /// again.
  func digest(for content: StoredContent) -> [UploadCommand]? {
    guard let length, !isStream, !attempts.isSpent, !content.algorithms.isEmpty else { return nil }
    return [.digest(0..<length, part: 0, content.algorithms)]
  }

  /// Takes what is there as the result, if it is proved to be what this run would have stored.
  /// - Parameter digests: of the bytes of this run.
  mutating func compared(
    _ content: StoredContent, with digests: [Checksum]
  ) -> [UploadCommand] {
    let own = digests + (request.download?.checksums ?? [])
    switch content.isEqual(to: own, length: length) {
    case true?:
      let adoption = UploadCommand.reportAdoption(length: content.length ?? length)
      return (mayBeOwn ? [] : [adoption]) + end(.completed)
    case false?: return end(replaced(isProved: true))
    case nil: return end(replaced(isProved: false))
    }
  }

  func replaced(isProved: Bool) -> TransferError {
    if request.precondition != .none || mayBeOwn && !isProved { return conflict(412) }
    return isProved ? .isReplaced : .isPerhapsReplaced
  }
}
