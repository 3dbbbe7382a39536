/// Decides everything about one upload to an S3 store: as one object, or in parts, several at once.
/// The store keeps the parts that it has, and the upload continues with the others: after a lost
/// connection, a pause or a crash.
package struct S3Machine: UploadMachine, StatefulUpload {
  enum State: UploadStates {
    case waiting, asking, announcing, creating, storing, checking, completing
    /// Which uploads have begun since that time, in seconds since 1970, whose answers were lost.
    case searching(since: Double)
    /// Whether the first of these uploads has a part.
    case examining([String])
    /// The one before these is being deleted.
    case discarding([String])
    /// Which parts the store has after this number, with those that it has listed before.
    case listing(after: Int, [S3PartList.Part])
    /// The first of the listed parts is read, to compare it.
    case comparing(ArraySlice<S3PartList.Part>)
    /// With what went wrong with a part, while others are still being sent.
    case sending(PartFailure?)
    /// Which object the store has decides how it goes on.
    case confirming(S3Doubt)
    /// The object of another run is of another version: whether this one's is the source's still.
    case comparingVersions(ResponseHead)
    /// The object is made: whether it is there, and as long as the file.
    case measuring
    /// The same, and it may have replaced a newer one: whether this run's version is present still.
    case lookingBack
    /// The file is read, to compare it with the object that is there; or that is asked for the size
    /// of its parts, and one after the other of the file's is read.
    case comparingObject(S3StoredObject), measuringParts(S3StoredObject)
    case comparingParts(S3PartComparison)
    /// The object is that of the file, if that did not change meanwhile.
    case confirmingObject(PresentFile)
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
  /// A random text in the object's metadata, by which this upload knows its object.
  var mark = ""
  /// When an upload was about to begin, in seconds since 1970; nil if none was, or the answer to
  /// its creation has come.
  var begun: Double?
  /// When the run began, in seconds since 1970; nil if it is not known.
  let wallSeconds: Double?
  /// Whether the object of a remote source is made on a condition, or not at all.
  let requiresCondition: Bool
  /// Whether the condition of the messages is that of the upload, or it has none.
  var isConditionKnown = false
  /// When the store was asked for it.
  var askedAt: Instant?
  /// Whether the clock was set by an answer to that question. Two clocks of a store may differ.
  var hasSetClock = false
  /// Whether the store did not answer in time what it has, last.
  var hasAskedInVain = false
  /// Whether the search for lost uploads was repeated: once in a run.
  var hasSearchedAgain = false
  /// Why the run ends once that search has ended; nil: the upload goes on after it.
  var errorAfterSearch: TransferError?
  /// Whether the answer to a file that is one object has proved that the store has its bytes.
  var isProvenObject = false
  package var attempts: UploadAttempts

  var request: UploadRequest { messages.request }
  package var refusals: StoreRefusals { messages.refusals }
  var progress: (acknowledged: Int64, length: Int64)? { (parts.acknowledged, parts.length) }
  /// Whether the first part of a stream is no longer held, so that no new upload can begin.
  private var isStreamGone: Bool { parts.isStream && parts.count > 1 }

  package init(_ start: UploadStart) {
    (source, wallSeconds) = (start.source, start.wallSeconds)
    requiresCondition = start.requiresCondition && source.remote != nil
    let refusals = start.refusals
    messages = S3Messages(
      request: start.request, source: source, fields: start.fields, staysLocal: start.staysLocal,
      refusals: start.requiresCondition ? refusals.subtracting(.conditions) : refusals)
    messages.proof = S3Proof(needsMD5: source.remote != nil)
    if start.extent.isWhole {
      let size = S3Parts.size(for: source) ?? S3Parts.sizes.upperBound
      parts = S3Parts(length: source.size, partSize: size)
      isSingle = !source.isInParts
    } else {
      (parts, isSingle) = (S3Parts(stream: start.extent), false)
    }
    attempts = UploadAttempts(start)
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
    case (.announcing, .stored(nil)): return create()
    case (.announcing, .stored(let error?)): return end(error)
    case (.storing, .stored(nil)): return fill()
    // The upload has no byte yet, and nothing refers to it.
    case (.storing, .stored(let error?)): return abort(then: .failed(error))
    case (.comparing(let listed), .digested(_, .success(let digest))):
      return compared(digest, listed)
    case (.comparing, .digested(_, .failure(let error))): return sourceFailed(error)
    case (.comparingObject(let object), .digested(_, .success(let digests))):
      return compared(object, with: digests)
    case (.comparingParts(var comparison), .digested(_, .success(let digests))):
      comparison.add(digests)
      return readNext(comparison)
    case (.comparingObject, .digested(_, .failure(let error))),
      (.comparingParts, .digested(_, .failure(let error))):
      return end(error)
    case (.confirmingObject(let object), .sourceChecked(let error)):
      return error.map { end($0) } ?? keep(object)
    case (.measuringParts(let object), .failed): return measuredParts(object, nil)
    case (.sending, .read(let extent)):
      parts.add(extent)
      return fill()
    case (.sending, .digested(let part, .success(let digest))):
      return digested(part, digest)
    case (.sending, .digested(let part, .failure(let error))):
      return partFailed(part, error)
    case (.checking, .sourceChecked(nil)):
      return isSingle ? (isProvenObject && !isLate ? finish(.completed) : measure()) : publish()
    case (.checking, .sourceChecked(let error?)):
      return error.isRetryable ? failed(error) : sourceFailed(error)
    case (.comparingVersions(let head), .sourceChecked(let error)): return compared(head, error)
    case (.lookingBack, .sourceChecked(let error?)) where error.code == .sourceChanged:
      return end(error)
    case (.lookingBack, .sourceChecked): return finish(.completed)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      return answered(answer)
    case (.sending, .failed(let error, let sent, let part)):
      if isSingle, sent >= parts.length { attempts.mayHaveArrived = true }
      return partFailed(part, error)
    // It stays on the store, and its record here: a later run deletes it.
    case (.aborting(let end?), .failed): return finish(end)
    case (.asking, .failed(let error, _, _)): return askedInVain(error)
    case (.creating, .failed(let error, _, _)): return creationFailed(error)
    case (.searching, .failed), (.examining, .failed): return searchAgain() ?? endSearch()
    case (.discarding, .failed): return endSearch()
    case (.confirming(let doubt), .failed) where doubt.isOptional:
      return conclude(doubt, holds: nil)
    // The store has said that it made the object.
    case (.measuring, .failed): return taken()
    case (.completing, .failed(let error, _, _)):
      attempts.mayHaveArrived = true
      return failed(error)
    case (_, .failed(let error, _, _)): return failed(error)
    default: return []
    }
  }

  /// Continues an upload of the same version of the file. Any other is deleted: its parts cost.
  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand] {
    if record == nil { record = stored }
    let known = record
    guard let known, let layout = known.s3, S3Messages.upload(of: known) != nil,
      messages.abort(known) != nil
    else {
      begun = known.flatMap { $0.s3?.begun }
      record = nil
      return begun.map { search(since: $0) } ?? begin()
    }
    guard known.source == source, !isSingle, layout.condition != nil || !requiresCondition,
      S3Parts.isPossible(layout.partSize, for: parts.length)
    else { return abort(then: nil) }
    mark = layout.mark
    messages.checksums = layout.checksums
    (messages.condition, isConditionKnown) = (layout.condition, true)
    if parts.areKnown { return fill() }
    parts = S3Parts(length: source.size, partSize: layout.partSize)
    return list(after: 0, beside: [])
  }

  /// Begins with nothing on the store.
  mutating func begin() -> [UploadCommand] {
    guard S3Parts.size(for: source) != nil else { return end(tooLarge) }
    if mark.isEmpty { mark = newMark() }
    messages.beginChecksums()
    guard asksFirst else { return open() }
    if askedAt == nil { askedAt = attempts.now }
    state = .asking
    return [.send(question)]
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
    guard !isSingle else { return messages.refusesConditions ? publish() : fill() }
    if let begun { return search(since: begun) }
    return wallSeconds.map { announce(at: $0) } ?? create()
  }

  /// Begins as many parts as there are connections. Once the store has all, looks at the file.
  mutating func fill() -> [UploadCommand] {
    state = .sending(nil)
    parts.areKnown = true
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
      let tooLong = TransferError(
        .tooLarge, "a stream has at most \(parts.length >> 30) GiB",
        advice: "save it to a file and upload that")
      return abort(then: .failed(tooLong))
    }
    return [.read(Int(parts.size(of: parts.count + 1)))]
  }

  private mutating func digested(_ part: Int, _ checksums: [Checksum]) -> [UploadCommand] {
    guard failure == nil, let digest = S3Digest(checksums) else {
      parts.close(part)
      return concludeParts()
    }
    parts.note(digest.crc32c, of: part)
    messages.proof.send(part, digest)
    let range = parts.range(of: part)
    guard let record, let upload = S3Messages.upload(of: record) else {
      return [.send(messages.put(range, digest, mark: mark))]
    }
    return [.send(messages.part(part, of: upload, range, digest))]
  }

  mutating func complete() -> [UploadCommand] {
    guard let record, let upload = S3Messages.upload(of: record) else {
      return fail(.internal, "an upload without an id is complete")
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
    guard error.refusesSource else { return end(error) }
    if error.code == .sourceChanged, source.remote != nil, messages.condition != nil {
      return confirm(.source(error))
    }
    return stop(error)
  }

  private var failure: PartFailure? {
    if case .sending(let failure) = state { failure } else { nil }
  }

  mutating func partFailed(
    _ part: Int, _ error: TransferError, isGone: Bool = false
  ) -> [UploadCommand] {
    parts.close(part)
    state = .sending(PartFailure(error, isGone: isGone, after: failure))
    return concludeParts()
  }

  /// Begins the next parts, unless something went wrong with another one.
  mutating func afterPart() -> [UploadCommand] { failure == nil ? fill() : concludeParts() }

  /// Handles what went wrong with a part, once the other parts have ended.
  private mutating func concludeParts() -> [UploadCommand] {
    guard parts.open.isEmpty, let failure else { return [] }
    if failure.isGone {
      return messages.condition == nil
        ? startOver(failure.error) : confirm(.gone(failure.error))
    }
    return failure.error.refusesSource ? sourceFailed(failure.error) : failed(failure.error)
  }

  /// The store no longer has the upload, or cannot use it: a new one begins, once in a run.
  mutating func startOver(_ error: TransferError) -> [UploadCommand] {
    record = nil
    guard !isStreamGone else { return [.deleteRecord] + end(attempts.spent(error)) }
    parts.reset()
    guard !attempts.hasStartedOver else { return [.deleteRecord] + failed(error) }
    attempts.hasStartedOver = true
    attempts.forgetProgress()
    return [.deleteRecord, .reportAcknowledged(0)] + begin()
  }

  /// The upload cannot be completed, because another request for the object is under way: a new one
  /// begins, once in a run.
  mutating func replaceUpload(_ error: TransferError) -> [UploadCommand] {
    guard !isStreamGone, !attempts.hasStartedOver else {
      return abort(then: .failed(isStreamGone ? attempts.spent(error) : error))
    }
    attempts.hasStartedOver = true
    parts.reset()
    attempts.forgetProgress()
    return [.reportAcknowledged(0)] + abort(then: nil)
  }
}

extension TransferError {
  /// Whether the source is another one than the one that is to be uploaded.
  fileprivate var refusesSource: Bool {
    code == .sourceChanged || code == .checksumMismatch && !isRetryable
  }
}
