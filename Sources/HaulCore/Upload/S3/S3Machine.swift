/// Decides everything about one upload to an S3 store: as one object, or in parts, several at once.
/// The store keeps the parts that it has, and the upload continues with the others: after a lost
/// connection, a pause or a crash.
package struct S3Machine: UploadMachine {
  enum State: Sendable {
    case waiting, asking, creating, storing, listing, comparing, sending, checking, completing
    /// The upload is gone: whether the object is there. With the error if it is not ours.
    case confirming(TransferError?)
    /// The object is made, without a checksum: whether it is as long as the file.
    case measuring
    /// An upload is being deleted. Then the run ends, or nil: a new upload begins.
    case aborting(UploadEnd?)
    case done
  }

  let source: SourceIdentity
  /// Whether the file is sent as one object.
  let isSingle: Bool
  /// The most parts that are read and sent at once.
  private var connections = 1
  var messages: S3Messages
  var state = State.waiting
  /// The upload on the store; nil before it is created, and for one object.
  var record: UploadRecord?
  var parts: S3Parts
  /// The digests of the parts that are being sent, and whether the store checks their MD5.
  var sentParts: [Int: (digest: S3Digest, isChecked: Bool)] = [:]
  /// A random text in the object's metadata, by which this upload knows its object.
  var mark = ""
  /// Whether the answer to a file that is one object has proved that the store has its bytes.
  var isProvenObject = false
  /// The parts that the store listed, before they are compared with the file.
  var listed: [S3PartList.Part] = []
  /// The last part of the last page of the list.
  var listMarker = 0
  /// Whether the parts of an earlier run are known.
  var hasListed = false
  /// Why no more parts are begun; handled once no part is open.
  private var pendingError: TransferError?
  /// Whether the store no longer has the upload.
  private var isUploadGone = false
  /// Whether an upload that the store no longer had was replaced by a new one.
  private var hasStartedOver = false
  /// How often the store has named another place for the bucket.
  private var relocations = 0
  /// Whether the store has to check the MD5 of each part. After a crash, the parts of a remote
  /// source are taken as they are listed. And a part without its MD5 may have been refused, or have
  /// got another entity tag.
  var needsMD5: Bool
  /// Whether a part's entity tag was its MD5. Then another MD5 is that of other bytes.
  var hasMD5Tags = false
  /// Whether the store has refused a request with checksums.
  private var refusesChecksums = false
  /// Whether an attempt without an answer may have succeeded.
  private(set) var mayHaveArrived = false
  package var attempts: UploadAttempts

  var request: UploadRequest { messages.request }
  /// Whether the first part of a stream is no longer held, so that no new upload can begin.
  private var isStreamGone: Bool { parts.isStream && parts.count > 1 }

  /// - Parameters:
  ///   - extent: of a stream, what was read of it; nil for a file.
  ///   - staysLocal: whether the requests stay on this machine.
  package init(
    _ request: UploadRequest, source: SourceIdentity, extent: UploadExtent? = nil,
    staysLocal: Bool = false, isAttended: Bool, now: Instant
  ) {
    messages = S3Messages(request: request, staysLocal: staysLocal)
    self.source = source
    needsMD5 = source.remote != nil
    if let extent, !extent.isWhole {
      (parts, isSingle) = (S3Parts(stream: extent), false)
    } else {
      let size = S3Parts.size(for: source) ?? S3Parts.sizes.upperBound
      parts = S3Parts(length: source.size, partSize: size)
      isSingle = source.size <= S3Parts.mostSingle(of: source)
    }
    attempts = UploadAttempts(request, isAttended: isAttended, now: now)
  }

  /// The request that deletes an upload from its store; none if its address cannot be read.
  package static func terminations(
    of record: UploadRecord, _ request: UploadRequest
  ) -> [UploadMessage] {
    [S3Messages(request: request).abort(record)].compactMap(\.self)
  }

  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    switch (state, event) {
    case (.waiting, .start(let stored, let connections)):
      self.connections = connections
      return start(stored)
    case (.storing, .stored(nil)): return fill()
    // The upload has no byte yet, and nothing refers to it.
    case (.storing, .stored(let error?)): return abort(then: .failed(error))
    case (.comparing, .digested(_, .success(let digest))): return compared(digest)
    case (.comparing, .digested(_, .failure(let error))): return sourceFailed(error)
    case (.sending, .read(let extent)):
      parts.add(extent)
      return fill()
    case (.sending, .digested(let part, .success(let digest))):
      return digested(part, digest)
    case (.sending, .digested(let part, .failure(let error))):
      return partFailed(part, error)
    case (.checking, .sourceChecked(nil)):
      return isSingle ? (isProvenObject ? finish(.completed) : measure()) : complete()
    case (.checking, .sourceChecked(let error?)):
      return error.isRetryable
        ? failed(error) : sourceFailed(error)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      return answered(answer)
    case (.sending, .failed(let error, let sent, let part)):
      if isSingle, sent >= parts.length { mayHaveArrived = true }
      return partFailed(part, error)
    // It stays on the store, and its record here: a later run deletes it.
    case (.aborting(let end?), .failed): return finish(end)
    // The store has said that it made the object.
    case (.measuring, .failed): return [.deleteRecord] + finish(.completed)
    case (.completing, .failed(let error, _, _)):
      mayHaveArrived = true
      return failed(error)
    case (_, .failed(let error, _, _)): return failed(error)
    default: return []
    }
  }

  /// Continues an upload of the same version of the file. Any other is deleted: its parts cost.
  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand] {
    if record == nil { record = stored }
    guard let known = record, let layout = known.s3, S3Messages.upload(of: known) != nil,
      messages.abort(known) != nil
    else {
      record = nil
      return begin()
    }
    guard known.source == source, !isSingle, S3Parts.isPossible(layout.partSize, for: parts.length)
    else { return abort(then: nil) }
    mark = layout.mark
    messages.checksums = layout.checksums
    if hasListed || parts.isStream { return fill() }
    parts = S3Parts(length: source.size, partSize: layout.partSize)
    listed = []
    return list(after: 0)
  }

  /// Begins with nothing on the store.
  mutating func begin() -> [UploadCommand] {
    guard S3Parts.size(for: source) != nil else { return finish(.failed(tooLarge)) }
    if mark.isEmpty { mark = newMark() }
    messages.checksums = refusesChecksums || request.hasOwnChecksums ? nil : .ofWhole
    guard request.precondition == .absent else { return open() }
    state = .asking
    return [.send(messages.head)]
  }

  private var tooLarge: TransferError {
    source.remote == nil
      ? TransferError(.tooLarge, "S3 takes at most 48.8 TiB")
      : TransferError(
        .tooLarge, "a remote source has at most 312 GiB",
        advice: "save it to a file and upload that")
  }

  private mutating func newMark() -> String {
    [attempts.random.next(), attempts.random.next()].map(\.hexDigits).joined()
  }

  /// Sends the object, or creates an upload in parts.
  mutating func open() -> [UploadCommand] {
    guard !isSingle else { return fill() }
    state = .creating
    return [.send(messages.create(mark: mark))]
  }

  /// Begins as many parts as there are connections. Once the store has all, looks at the file.
  mutating func fill() -> [UploadCommand] {
    state = .sending
    hasListed = true
    var commands: [UploadCommand] = []
    while parts.open.count < connections, let number = parts.openNext() {
      commands.append(.digest(parts.range(of: number), part: number, messages.digests))
    }
    guard parts.isComplete, parts.open.isEmpty else { return commands }
    guard parts.isWhole else { return readPart() }
    state = .checking
    return [.checkSource]
  }

  /// Reads the next part of a stream, once the store has all before it.
  private mutating func readPart() -> [UploadCommand] {
    guard parts.count < Int(S3Parts.maximumCount) else {
      let size = parts.length >> 30
      return abort(
        then: .failed(
          TransferError(
            .tooLarge, "a stream has at most \(size) GiB",
            advice: "save it to a file and upload that")))
    }
    return [.read(Int(parts.size(of: parts.count + 1)))]
  }

  private mutating func digested(_ part: Int, _ checksums: [Checksum]) -> [UploadCommand] {
    guard pendingError == nil, let digest = S3Digest(checksums) else {
      parts.close(part)
      return concludeParts()
    }
    parts.note(digest.crc32c, of: part)
    sentParts[part] = (digest, messages.sendsMD5)
    let range = parts.range(of: part)
    guard let record, let upload = S3Messages.upload(of: record) else {
      return [.send(messages.put(range, digest, mark: mark))]
    }
    return [.send(messages.part(part, of: upload, range, digest))]
  }

  mutating func complete() -> [UploadCommand] {
    guard let record, let upload = S3Messages.upload(of: record) else {
      return finish(.failed(TransferError(.internal, "an upload without an id is complete")))
    }
    state = .completing
    return [.send(messages.complete(upload, parts))]
  }

  /// Deletes the upload from the store.
  mutating func abort(then end: UploadEnd?) -> [UploadCommand] {
    guard let record, let message = messages.abort(record) else {
      return finish(end ?? .failed(TransferError(.internal, "there is no upload to delete")))
    }
    state = .aborting(end)
    return [.send(message)]
  }

  /// What was sent is of no use any more if the file has changed, or is the wrong one.
  private mutating func sourceFailed(_ error: TransferError) -> [UploadCommand] {
    guard error.refusesSource, record != nil else { return finish(.failed(error)) }
    return abort(then: .failed(error))
  }

  mutating func partFailed(_ part: Int, _ error: TransferError) -> [UploadCommand] {
    parts.close(part)
    // One that cannot be retried decides.
    if pendingError?.isRetryable ?? true { pendingError = error }
    return concludeParts()
  }

  mutating func partGone(_ part: Int, _ error: TransferError) -> [UploadCommand] {
    isUploadGone = true
    return partFailed(part, error)
  }

  /// Begins the next parts, unless something went wrong with another one.
  mutating func afterPart() -> [UploadCommand] {
    pendingError == nil ? fill() : concludeParts()
  }

  /// Handles what went wrong with a part, once the other parts have ended.
  private mutating func concludeParts() -> [UploadCommand] {
    guard parts.open.isEmpty, let error = pendingError else { return [] }
    pendingError = nil
    if isUploadGone { return startOver(error) }
    return error.refusesSource
      ? sourceFailed(error) : failed(error)
  }

  /// The store no longer has the upload, or cannot use it: a new one begins, once in a run.
  mutating func startOver(_ error: TransferError) -> [UploadCommand] {
    isUploadGone = false
    guard !isStreamGone else {
      record = nil
      return [.deleteRecord] + finish(.failed(error.spent))
    }
    parts.reset()
    guard !hasStartedOver else {
      record = nil
      return [.deleteRecord] + failed(error)
    }
    (hasStartedOver, record) = (true, nil)
    attempts.forgetProgress()
    return [.deleteRecord, .reportAcknowledged(0)] + begin()
  }

  /// The upload cannot be completed, because another request for the object is under way: a new one
  /// begins, once in a run.
  mutating func replaceUpload(_ error: TransferError) -> [UploadCommand] {
    guard !isStreamGone, !hasStartedOver else {
      return abort(then: .failed(isStreamGone ? error.spent : error))
    }
    hasStartedOver = true
    parts.reset()
    attempts.forgetProgress()
    return [.reportAcknowledged(0)] + abort(then: nil)
  }

  /// Sets the clock by the store's.
  mutating func setClock(by answer: UploadAnswer) {
    guard
      let date = answer.head.headers["Date"].flatMap({
        HTTPDate($0, now: answer.wallSeconds)
      })
    else { return }
    messages.clockOffset = Double(date.secondsSince1970) - answer.wallSeconds
  }

  /// Goes where the store says that the bucket is: at its own hosts, a few times.
  mutating func follow(_ answer: UploadAnswer) -> Bool {
    guard relocations < 3, let place = S3Place(answer, from: messages) else { return false }
    relocations += 1
    messages.move(to: place)
    return true
  }

  /// Sends no more checksums, if the store may have refused those.
  /// - Returns: what says so; nil if the same request would be refused again.
  mutating func dropChecksums(after answer: UploadAnswer) -> UploadCommand? {
    let failure = S3Failure(answer)
    guard messages.checksums != nil, failure.mayRefuseChecksums else { return nil }
    (messages.checksums, refusesChecksums) = (nil, true)
    return .reportRefusal(failure.refusedChecksums)
  }

  mutating func failed(_ error: TransferError) -> [UploadCommand] {
    let progress = (parts.acknowledged, parts.length)
    switch attempts.failed(error, progress: progress) {
    case .failure(let error): return finish(.failed(error))
    case .success(let retry):
      state = .waiting
      return [retry]
    }
  }

  /// The store has another object there. After an attempt without an answer it may be this one.
  var conflict: TransferError {
    .isStoredAlready(perhapsByThis: mayHaveArrived, status: 412)
  }

  mutating func finish(_ end: UploadEnd) -> [UploadCommand] {
    state = .done
    return [.finish(end)]
  }
}

extension TransferError {
  /// Whether the source is another one than the one that is to be uploaded.
  fileprivate var refusesSource: Bool {
    code == .sourceChanged || code == .checksumMismatch && !isRetryable
  }
}
