/// Decides everything about one upload with PUT that resumes if the server offers it
/// (draft-ietf-httpbis-resumable-upload). The server is asked first; one that does not offer it
/// gets a plain PUT, which `PutMachine` decides about.
///
/// The upload is created empty, and its address is stored before the first byte goes out.
package struct ResumableMachine: UploadMachine, StatefulUpload {
  enum State: UploadStates {
    case waiting, discovering, creating, storing, reading, checking
    /// What the server has. `after` is what it had before a request whose answer does not say it;
    /// `isAccepted`: whether the request with the last byte was answered with a success.
    case asking(after: Int64? = nil, isAccepted: Bool = false)
    /// The bytes up to here are being sent.
    case appending(Int64)
    /// Decides instead, once the server is known not to resume.
    case plain(PutMachine)
    case done
  }

  private let request: UploadRequest
  private let source: SourceIdentity
  /// What of the source can be sent.
  private var extent: UploadExtent
  var state = State.waiting
  /// The version of the draft that both sides speak (`Upload-Draft-Interop-Version`).
  private var version = Self.versions[0]
  private var limit: UploadLimit?
  /// The address of the upload on the server; nil before it is created.
  private var upload: ResourceURL?
  /// The bytes that the server has.
  private var offset: Int64 = 0
  /// The bytes that it may have at most: those that were sent to it, or all after a crash.
  private var mostSent: Int64 = 0
  private var step = UploadStep()
  /// Whether the question what the server offers was lost once.
  private var hasLostQuestion = false
  /// When the file of this machine changed last, in seconds since 1970; nil for another source.
  private let changed: Double?
  package var attempts: UploadAttempts

  var progress: (acknowledged: Int64, length: Int64)? { (offset, extent.end) }

  /// In the order in which the server is asked.
  private static let versions = [8, 6]
  /// Smaller files, in bytes, are sent with plain PUT, without asking.
  package static let smallest: Int64 = 8 << 20
  /// The most bytes of a stream that are held for one request.
  package static let mostHeld: Int64 = 64 << 20

  package init(_ start: UploadStart) {
    (request, source, extent) = (start.request, start.source, start.extent)
    changed = start.changed
    attempts = UploadAttempts(start, hasRun: start.hasRun)
  }

  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    switch (state, event) {
    case (.plain(var machine), _):
      defer { state = .plain(machine) }
      return machine.take(event, in: attempts)
    case (.waiting, .start(let stored, _)):
      return start(stored) ?? fallBack()
    case (.storing, .stored(nil)): return append()
    case (.storing, .stored(let error?)): return end(error)
    case (.reading, .read(let extent)):
      self.extent = extent
      return append()
    case (.checking, .sourceChecked(let error)):
      return [.deleteRecord] + finish(error.map { .failed($0) } ?? .completed)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      mostSent = max(mostSent, offset + answer.sent)
      let judge = UploadJudge(answer, of: request)
      return answered(answer.head, answer.sent, judge)
    case (.discovering, .failed(let error, _, _)) where error.leavesQuestionOpen:
      return undiscovered(error)
    case (_, .failed(let error, let sent, _)):
      mostSent = max(mostSent, offset + sent)
      return failed(error)
    default: return []
    }
  }

  /// Nil for a plain PUT, without asking.
  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand]? {
    if upload == nil, let stored, stored.source == source, let spoken = stored.version,
      let known = request.address(of: stored)
    {
      (upload, mostSent, version) = (known, source.size, spoken)
    }
    if upload != nil { return ask() }
    guard extent.length ?? .max >= Self.smallest, request.precondition == .none,
      !request.asksForExisting
    else { return nil }
    return discover()
  }

  /// The server has not said what it offers. It is asked once more, and then gets a plain PUT: some
  /// firewalls drop what is no GET, POST or PUT.
  private mutating func undiscovered(_ error: TransferError) -> [UploadCommand] {
    guard !hasLostQuestion, error.code != .stalled,
      case .success(let retry) = attempts.failed(error)
    else {
      let hasAnswered = error.status != nil || error.code == .protocolViolation
      return fallBack(measures: hasAnswered ? .byHead : .never)
    }
    (hasLostQuestion, state) = (error.status == nil, .waiting)
    return [retry]
  }

  private mutating func fallBack(measures: PutMachine.Measure = .byHead) -> [UploadCommand] {
    var request = request
    request.method = .put
    var machine = PutMachine(
      request, length: extent.length, changed: changed, hasRun: attempts.mayHaveArrived,
      measures: measures, isAttended: attempts.isAttended, now: attempts.now)
    defer { state = .plain(machine) }
    return machine.take(.start(nil), in: attempts)
  }

  // MARK: Requests

  /// The request that deletes an upload from its server; none if its address cannot be read.
  package static func terminations(
    of record: UploadRecord, _ request: UploadRequest
  ) -> [UploadMessage] {
    request.address(of: record).map {
      [message("DELETE", $0, request, record.version ?? versions[0])]
    } ?? []
  }

  private static func message(
    _ method: String, _ url: ResourceURL, _ request: UploadRequest, _ version: Int,
    _ own: [(String, String)] = [], range: ByteRange? = nil
  ) -> UploadMessage {
    // The caller's fields may be secrets of the first server.
    var fields = url.origin == request.url.origin ? request.headers : HeaderFields()
    if method != "PUT" { fields.remove("Content-Type") }
    fields.append("Upload-Draft-Interop-Version", "\(version)")
    for (name, value) in own { fields.append(name, value) }
    return UploadMessage(method, url, fields: fields, range: range)
  }

  /// - Parameter url: nil for the upload's own.
  private mutating func send(
    _ state: State, _ method: String, _ url: ResourceURL? = nil, _ own: [(String, String)] = [],
    range: ByteRange? = nil
  ) -> [UploadCommand] {
    guard let url = url ?? upload else { return [] }
    self.state = state
    return [.send(Self.message(method, url, request, version, own, range: range))]
  }

  private mutating func discover() -> [UploadCommand] {
    state = .discovering
    var message = Self.message("OPTIONS", request.url, request, version)
    message.isOptional = true
    return [.send(message)]
  }

  private mutating func create() -> [UploadCommand] {
    let length = extent.length.map { [("Upload-Length", "\($0)")] } ?? []
    state = .creating
    var message = Self.message(
      "PUT", request.url, request, version, [("Upload-Complete", "?0")] + length, range: 0..<0)
    message.isCreation = true
    return [.send(message)]
  }

  private mutating func ask() -> [UploadCommand] { send(.asking(), "HEAD") }

  private mutating func append() -> [UploadCommand] {
    let most = min(step.most, limit?.maximumAppend ?? .max)
    // Only the request that completes the file may have fewer bytes (section 4.1.4).
    let least = min(limit?.minimumAppend ?? 1, most, Self.mostHeld)
    guard extent.end - offset >= least || extent.isWhole else {
      state = .reading
      return [.read(max(UploadExtent.window, Int(least)))]
    }
    let end = extent.end - offset > most ? offset + most : extent.end
    let fields = [
      ("Upload-Offset", "\(offset)"), ("Upload-Complete", end == extent.length ? "?1" : "?0"),
      ("Content-Type", "application/partial-upload"),
    ]
    return send(.appending(end), "PATCH", upload, fields, range: offset..<end)
  }

  // MARK: Answers

  private mutating func answered(
    _ head: ResponseHead, _ sent: Int64, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let isSuccess = (200..<300).contains(head.status)
    switch (state, head.status) {
    case (.discovering, 429), (.discovering, 503):
      return undiscovered(judge.failure(of: head, to: request))
    case (.discovering, _):
      return discovered(isSuccess ? UploadLimit(head.headers) : nil)
    case (.creating, _) where isSuccess: return created(head)
    case (.asking(let before, let isAccepted), _) where isSuccess:
      return found(head, after: before, isAccepted: isAccepted, judge)
    // IIS says 404 to a body that is longer than its limit. HEAD shows if the upload is there.
    case (.appending(let end), 404):
      return step.suspect(end - offset) ? ask() : startOver(head, judge)
    case (.asking, 403), (.asking, 404), (.asking, 410), (.appending, 410):
      return startOver(head, judge)
    case (.appending(let end), _) where isSuccess:
      return appended(head, sent, to: end, judge)
    case (.appending, _) where isComplete(head) == true:
      // The server has the whole file, and refuses it.
      let error = judge.failure(of: head, to: request)
      return [.deleteRecord]
        + fail(error.code, error.fact, advice: error.advice, status: head.status)
    // Perhaps a proxy takes no such long body.
    case (.appending(let end), 413):
      return step.refuse(end - offset) ? append() : failed(judge.failure(of: head, to: request))
    // The server has another offset, or the connection before still writes.
    case (.appending, 409):
      return failed(
        judge.error(.httpStatus, head, "it has another part of the file", isRetryable: true))
    default: return failed(judge.failure(of: head, to: request))
    }
  }

  /// What the answer says about the upload. Version 6 of a known server still uses the name of an
  /// older draft.
  private func isComplete(_ head: ResponseHead) -> Bool? {
    switch (head.headers.single("Upload-Complete"), head.headers.single("Upload-Incomplete")) {
    case ("?1", _): true
    case ("?0", _): false
    case (nil, "?0") where version < 8: true
    default: nil
    }
  }

  private mutating func discovered(_ limit: UploadLimit?) -> [UploadCommand] {
    guard let limit else {
      guard let next = Self.versions.first(where: { $0 < version }) else {
        return fallBack()
      }
      version = next
      return discover()
    }
    if let most = limit.maximumSize, extent.end > most {
      return fail(.tooLarge, "the server takes at most \(most) bytes")
    }
    // A stream counts with what was read of it, because its length is not known.
    guard extent.end >= limit.minimumSize ?? 0 else { return fallBack() }
    if !extent.isWhole, let least = limit.minimumAppend, least > Self.mostHeld {
      return fail(
        .httpStatus,
        "the server takes a stream only in requests of \(least) bytes or more, and at most"
          + " \(Self.mostHeld) are held",
        advice: "save the source to a file and upload that")
    }
    self.limit = limit
    return create()
  }

  private mutating func created(_ head: ResponseHead) -> [UploadCommand] {
    let target: ResourceURL
    do throws(TransferError) {
      let missing = "the server does not say where to upload to; look there"
      target = try request.target(in: head, orElse: missing)
    } catch {
      return end(error)
    }
    limit = UploadLimit(head.headers) ?? limit
    (upload, offset, mostSent, state) = (target, 0, 0, .storing)
    return [
      .storeRecord(
        UploadRecord(address: target.absoluteString, source: source, version: version))
    ]
  }

  /// Handles the answer to HEAD. An offset never decreases; the server has lost bytes if it does.
  private mutating func found(
    _ head: ResponseHead, after before: Int64?, isAccepted: Bool, _ judge: UploadJudge
  ) -> [UploadCommand] {
    guard let position = head.uploadOffset else { return end(.unknownOffset) }
    guard position <= min(extent.end, mostSent) else { return end(.unsentOffset) }
    if let length = head.headers.single("Upload-Length"), Int64(length) != extent.length {
      return fail(.protocolViolation, "the server's upload has the length \(length)")
    }
    // A process that resumes has not asked with OPTIONS.
    limit = UploadLimit(head.headers) ?? limit
    guard position >= offset else { return startOver(head, judge) }
    if position == before, isComplete(head) != true { return failed(.tookNothing) }
    guard isComplete(head) == true else {
      step.confirm()
      offset = position
      return [.reportAcknowledged(offset)] + append()
    }
    // Without the answer to the last request, the server may have refused the file.
    guard position == extent.length, isAccepted else {
      guard extent.start == 0 else { return end(Self.answerLost) }
      return startOver(head, judge)
    }
    return complete(judge)
  }

  private mutating func appended(
    _ head: ResponseHead, _ sent: Int64, to upper: Int64, _ judge: UploadJudge
  ) -> [UploadCommand] {
    if upper == extent.length, isComplete(head) == true {
      guard offset + sent >= upper else {
        return fail(
          .protocolViolation, "the server says that the upload is complete, before it was sent")
      }
      return complete(judge)
    }
    guard let position = head.uploadOffset else {
      // HEAD says what the server has.
      let isAccepted = offset + sent == extent.length && isComplete(head) == nil
      return send(.asking(after: offset, isAccepted: isAccepted), "HEAD")
    }
    guard (offset...(offset + sent)).contains(position) else { return end(.otherOffset) }
    guard position > offset else { return failed(.tookNothing) }
    offset = position
    let isAccepted = position == extent.length && isComplete(head) == nil
    return [.reportAcknowledged(offset)]
      + (isAccepted ? send(.asking(isAccepted: true), "HEAD") : append())
  }

  private static let answerLost = TransferError(
    .connectionLost, "the answer to the last byte was lost",
    advice: "the server may have taken the file: look there")

  private mutating func complete(_ judge: UploadJudge) -> [UploadCommand] {
    (offset, state) = (extent.end, .checking)
    return [.reportAcknowledged(offset)] + (judge.reply.map { [.reportReply($0)] } ?? [])
      + [.checkSource]
  }

  /// The server no longer has the upload, or not as it was: a new one begins, once in a run.
  private mutating func startOver(_ head: ResponseHead, _ judge: UploadJudge) -> [UploadCommand] {
    guard !attempts.hasStartedOver, upload != nil, extent.start == 0 else {
      let error =
        (200..<300).contains(head.status)
        ? TransferError(.protocolViolation, "the server lost what it had", advice: "look there")
        : judge.failure(of: head, to: request)
      return failed(error)
    }
    (attempts.hasStartedOver, upload, offset, mostSent) = (true, nil, 0, 0)
    step.forgetSuspicion()
    return [.deleteRecord, .reportAcknowledged(0)] + discover()
  }
}
