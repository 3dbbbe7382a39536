/// Decides everything about one upload by the tus protocol, version 1.0.0. The server says how many
/// bytes it has, and the upload continues there: after a lost connection, a pause or a crash. A
/// large file is sent in parts at once, if the server can join them and is not near.
package struct TusMachine: UploadMachine, StatefulUpload {
  enum State: UploadStates {
    case waiting, connecting, creating, storing, asking, reading, checking
    case discovering(since: Instant)
    /// With what went wrong with a part, while others are still being sent.
    case sending(PartFailure?)
    /// The server joins the parts; its answer has the address of the file.
    case joining
    /// Whether the file that was joined has the right length.
    case confirming
    case done
  }

  var messages: TusMessages
  let source: SourceIdentity
  /// What of the source can be sent.
  var extent: UploadExtent
  /// Whether the server knows the length.
  var isLengthSent = false
  var state = State.waiting
  /// What the server offers; nil until it was asked.
  var offer: TusOffer?
  /// The upload on the server; nil before it is created.
  var record: UploadRecord?
  var parts: TusParts
  /// The most parts that are read and sent at once.
  private var connections = 1
  /// Whether the server has refused to create a part.
  private var refusesParts = false
  var step = UploadStep()
  var redirects = 0
  package var attempts: UploadAttempts

  var request: UploadRequest { messages.request }
  var progress: (acknowledged: Int64, length: Int64)? { (parts.acknowledged, extent.end) }

  package init(_ start: UploadStart) {
    messages = TusMessages(request: start.request)
    (source, extent) = (start.source, start.extent)
    parts = TusParts(length: extent.end)
    attempts = UploadAttempts(start)
  }

  /// The requests that delete an upload from its server.
  package static func terminations(
    of record: UploadRecord, _ request: UploadRequest
  ) -> [UploadMessage] {
    let parts = record.tus?.parts.map(\.address) ?? []
    return (parts.isEmpty ? [record.address] : parts).compactMap { address in
      request.address(of: address).map { TusMessages(request: request).delete($0) }
    }
  }

  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    switch (state, event) {
    case (.waiting, .start(let stored, _)): return start(stored)
    case (.connecting, .connected(let count)): return connected(count)
    case (.storing, .stored(nil)): return stored()
    case (.storing, .stored(let error?)): return finish(.failed(error))
    case (.reading, .read(let extent)):
      self.extent = extent
      parts.extend(to: extent.end)
      return fill()
    case (.sending, .digested(let part, .success(let checksums))):
      return digested(part, checksums)
    case (.sending, .digested(let part, .failure(let error))):
      return partFailed(part, error, sent: 0)
    case (.checking, .sourceChecked(let error)): return checked(error)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      return answered(answer)
    case (.sending, .failed(let error, let sent, let part)):
      return partFailed(part, error, sent: sent)
    case (.discovering, .failed(let error, _, _)) where error.leavesQuestionOpen:
      return undiscovered()
    case (.joining, .failed(let error, _, _)): return unjoined(error)
    case (_, .failed(let error, _, _)): return failed(error)
    default: return []
    }
  }

  /// Continues an upload of the same version of the file; any other is left to the server, which
  /// deletes it some day.
  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand] {
    if record == nil, let stored, stored.source == source,
      let known = TusParts(stored, length: source.size, request)
    {
      (record, parts) = (stored, known)
      // Its answer is lost.
      if stored.tus?.stage == .joining {
        return mayBeThere(
          TransferError(.interrupted, "haul stopped while the server joined the parts"))
      }
    }
    parts.forgetOffsets()
    switch record?.tus?.stage {
    case .joining: return join()
    case .joined: return confirm()
    case .sending, nil: return record == nil || offer == nil ? discover() : proceed()
    }
  }

  private mutating func discover() -> [UploadCommand] {
    state = .discovering(since: attempts.now)
    return [.send(messages.discover)]
  }

  /// Continues the upload that the server has.
  mutating func proceed() -> [UploadCommand] {
    parts.undoneCount > 1 ? connect(parts.undoneCount) : ask()
  }

  private mutating func connect(_ count: Int) -> [UploadCommand] {
    state = .connecting
    return [.connect(count)]
  }

  private mutating func connected(_ count: Int) -> [UploadCommand] {
    connections = count
    guard record == nil else { return ask() }
    parts = TusParts(length: extent.end, count: refusesParts ? 1 : count)
    return create()
  }

  /// Begins with nothing on the server.
  mutating func begin() -> [UploadCommand] {
    guard let offer, offer.joins, !offer.isNear, !refusesParts, extent.isWhole,
      extent.end >= TusParts.smallest
    else { return create() }
    return connect(TusParts.most)
  }

  /// Creates the upload; or its parts, one after the other.
  mutating func create() -> [UploadCommand] {
    (state, isLengthSent) = (.creating, extent.isWhole)
    let length = parts.areSeveral ? nextPart.range.length : extent.length
    return [.send(messages.create(length: length, isPart: parts.areSeveral))]
  }

  private var nextPart: TusParts.Part { parts[parts.firstWithoutAddress ?? 0] }

  mutating func created(at target: ResourceURL) -> [UploadCommand] {
    guard let number = parts.firstWithoutAddress else { return [] }
    parts.create(number, at: target)
    guard parts.firstWithoutAddress == nil else { return create() }
    let stored = parts.all.map { part in
      UploadRecord.Tus.Part(address: part.url?.absoluteString ?? "", range: part.range)
    }
    return store(
      UploadRecord(
        address: stored[0].address, source: source,
        tus: parts.areSeveral ? UploadRecord.Tus(parts: stored, stage: .sending) : nil))
  }

  /// The server takes no parts: the file is sent as one.
  mutating func partRefused() -> [UploadCommand] {
    refusesParts = true
    return connect(1)
  }

  func isPartRefused(_ error: TransferError) -> Bool { parts.areSeveral && !error.isRetryable }

  private mutating func store(_ record: UploadRecord) -> [UploadCommand] {
    (self.record, state) = (record, .storing)
    return [.storeRecord(record)]
  }

  private mutating func stored() -> [UploadCommand] {
    switch record?.tus?.stage {
    case .sending, nil: return fill()
    case .joining: return join()
    case .joined: return confirm()
    }
  }

  /// Asks what the server has of each part.
  mutating func ask() -> [UploadCommand] {
    guard let number = parts.firstUnknown, let url = parts[number].url else {
      step.confirm()
      return [.reportAcknowledged(parts.acknowledged)] + fill()
    }
    state = .asking
    return [.send(messages.ask(url, part: number))]
  }

  /// The part that is asked for.
  var asked: Int { parts.firstUnknown ?? 0 }

  /// Begins as many requests as there are connections. Once the server has all, looks at the file.
  mutating func fill() -> [UploadCommand] {
    state = .sending(nil)
    let isBounded = parts.areSeveral || offer?.checksum != nil
    var commands: [UploadCommand] = []
    while parts.openCount < connections,
      let number = parts.openNext(upTo: min(step.most, isBounded ? TusParts.step : .max))
    {
      commands += send(number)
    }
    guard !parts.areOpen else { return commands }
    guard extent.isWhole else {
      state = .reading
      return [.read(UploadExtent.window)]
    }
    state = .checking
    return [.checkSource]
  }

  /// Sends the chunk of a part; first computes the checksum, if the server checks one.
  private func send(_ number: Int, _ checksum: Checksum? = nil) -> [UploadCommand] {
    guard let chunk = parts[number].chunk else { return [] }
    if let wanted = offer?.checksum, checksum == nil {
      return [.digest(chunk, part: number, [wanted.algorithm])]
    }
    let length = isLengthSent || parts.areSeveral ? nil : extent.length
    var named: String?
    if let checksum, let wanted = offer?.checksum { named = "\(wanted.name) \(checksum.base64)" }
    let message = messages.append(
      parts[number], number: number, chunk, length: length, checksum: named)
    return [message.map { UploadCommand.send($0) }].compactMap(\.self)
  }

  private mutating func digested(_ part: Int, _ checksums: [Checksum]) -> [UploadCommand] {
    guard failure == nil, let checksum = checksums.first else {
      parts.close(part, sent: 0)
      return conclude()
    }
    return send(part, checksum)
  }

  private var failure: PartFailure? {
    if case .sending(let failure) = state { failure } else { nil }
  }

  /// Begins the next requests, unless something went wrong with another part.
  mutating func afterPart() -> [UploadCommand] { failure == nil ? fill() : conclude() }

  mutating func partFailed(
    _ part: Int, _ error: TransferError, sent: Int64, isGone: Bool = false
  ) -> [UploadCommand] {
    parts.close(part, sent: sent)
    state = .sending(PartFailure(error, isGone: isGone, after: failure))
    return conclude()
  }

  /// Handles what went wrong with a part, once the others have ended their requests.
  private mutating func conclude() -> [UploadCommand] {
    guard !parts.areOpen, let failure else { return [] }
    guard failure.isGone else { return failed(failure.error) }
    guard step.suspected != nil else { return startOver(failure.error) }
    parts.forgetOffsets()
    return ask()
  }

  /// The server no longer has the upload: a new one begins, once in a run.
  mutating func startOver(_ error: TransferError) -> [UploadCommand] {
    step.forgetSuspicion()
    guard !attempts.hasStartedOver, record != nil, extent.start == 0 else {
      return failed(error)
    }
    (attempts.hasStartedOver, record, parts) = (true, nil, TusParts(length: extent.end))
    return [.deleteRecord, .reportAcknowledged(0)] + discover()
  }

  // MARK: The end

  private mutating func checked(_ error: TransferError?) -> [UploadCommand] {
    if let error { return [.deleteRecord] + finish(.failed(error)) }
    guard parts.areSeveral, var joining = record else { return complete() }
    // A second request would make a second file, also after a crash.
    joining.tus?.stage = .joining
    return store(joining)
  }

  mutating func join() -> [UploadCommand] {
    state = .joining
    return [.send(messages.join(parts))]
  }

  mutating func joined(at target: ResourceURL) -> [UploadCommand] {
    parts = TusParts(length: source.size)
    parts.create(0, at: target)
    parts.acknowledge(0, to: source.size)
    return store(
      UploadRecord(
        address: target.absoluteString, source: source,
        tus: UploadRecord.Tus(parts: [], stage: .joined)))
  }

  private mutating func confirm() -> [UploadCommand] {
    guard let url = parts[0].url else { return complete() }
    state = .confirming
    return [.reportAcknowledged(source.size), .send(messages.ask(url))]
  }

  mutating func complete() -> [UploadCommand] { [.deleteRecord] + finish(.completed) }

  /// The server has not said that it joined the parts. It may have done so all the same.
  mutating func unjoined(_ error: TransferError) -> [UploadCommand] {
    let isRefused = error.status == 423 || error.status == 429
    guard error.hadConnection, !isRefused, error.isRetryable else {
      return failed(error)
    }
    return mayBeThere(error)
  }

  /// Fails, and says that the server may have the file. The next run joins the parts again.
  private mutating func mayBeThere(_ error: TransferError) -> [UploadCommand] {
    end(error.advising("the server may have the whole file: look there before you retry"))
  }

  /// The next run may tell the server to join the parts.
  private mutating func forgetJoining() -> [UploadCommand] {
    guard var record, record.tus?.stage == .joining else { return [] }
    record.tus?.stage = .sending
    self.record = record
    return [.storeRecord(record)]
  }

  mutating func end(_ error: TransferError) -> [UploadCommand] {
    forgetJoining() + finish(.failed(error))
  }
}
