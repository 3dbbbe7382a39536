/// Decides everything about one upload with PUT or POST: what to send, which answers mean success,
/// and when to try again. It takes events and returns commands, and has no side effects.
///
/// Such an upload cannot resume: each attempt sends the whole file.
package struct PutMachine: UploadMachine, PublishingUpload {
  enum State: UploadStates {
    case waiting, asking, reading, done
    /// The file goes to this address, after so many redirects.
    case sending(ResourceURL, redirects: Int)
    /// The server has taken it there.
    case checking(ResourceURL)
    /// What the server has. HEAD is first, and has found this; PROPFIND decides.
    case measuring(ResourceURL)
    case comparing(head: Int64?)
    /// What is at this address now, because the server refuses the condition.
    case looking(ResourceURL)
    /// What this run would have stored, to compare it with that.
    case digesting(StoredContent)
    /// The file here is read, to compare it with the one that the server has.
    case comparingExisting(StoredContent)
    /// That one is the same, if the file here did not change meanwhile.
    case confirming(PresentFile)
  }

  /// How the server is asked for the length of what it has, once it has taken the file.
  package enum Measure: Sendable { case never, byHead, byProperties }

  let request: UploadRequest
  /// In bytes; nil for a stream until its end was sent.
  private(set) var length: Int64?
  private(set) var isStream: Bool
  let form: FormBody?
  /// When the file of this machine changed last, in seconds since 1970; nil for another source.
  private let changed: Double?
  /// When the server was asked what it has.
  private var askedAt = Instant()
  /// How many attempts have sent something.
  private(set) var sendings = 0
  /// Whether other runs may publish at the same time, and what of that is known.
  var publication = Publication<UploadCondition>()
  /// Whether the server has refused a request with the condition.
  var isConditionRefused = false
  /// Whether it has said that the condition does not hold, although it does.
  var isContradicted = false
  private var measures: Measure
  /// Whether an attempt of this run may have arrived whole.
  private var mayHaveArrived = false
  var state = State.waiting
  package var attempts: UploadAttempts

  /// - Parameters:
  ///   - length: of the file, in bytes; nil for a stream.
  ///   - form: is sent instead of the file.
  ///   - hasRun: whether an earlier run may have sent it.
  ///   - measures: which other requests than PUT the server answers, as far as is known.
  package init(
    _ request: UploadRequest, length: Int64?, changed: Double? = nil, form: FormBody? = nil,
    hasRun: Bool, measures: Measure = .byHead, isAttended: Bool, now: Instant
  ) {
    self.request = request
    self.length = form?.length ?? length
    isStream = length == nil
    (self.form, self.changed) = (form, changed)
    if request.asksForExisting { publication = Publication(request) }
    self.measures = request.method != .post && form == nil ? measures : .never
    attempts = UploadAttempts(request, hasRun: hasRun, isAttended: isAttended, now: now)
  }

  /// Handles one event, and returns what to do, in order.
  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    switch (state, event) {
    case (_, .streamSent(let length?)):
      self.length = length
      return []
    case (.waiting, .start): return begin()
    case (.asking, .answered(let answer)):
      attempts.noteAnswer()
      return found(answer, UploadJudge(answer, of: request))
    case (.sending(let url, let redirects), .answered(let answer)):
      attempts.noteAnswer()
      return judge(
        answer.head, of: url, redirects, isFullySent: isFullySent(answer.sent),
        UploadJudge(answer, of: request))
    case (.reading, .read(let extent)):
      (length, isStream, publication.isRead) = (extent.length, extent.length == nil, true)
      return send(to: request.url)
    case (.looking(let url), .answered(let answer)):
      attempts.noteAnswer()
      return looked(answer.head, at: url, UploadJudge(answer, of: request))
    case (.digesting(let content), .digested(_, .success(let digests))):
      return compared(content, with: digests)
    case (.digesting, .digested(_, .failure(let error))),
      (.comparingExisting, .digested(_, .failure(let error))):
      return end(error)
    case (.comparingExisting(let content), .digested(_, .success(let digests))):
      return comparedExisting(content, with: digests)
    case (.confirming(let file), .sourceChecked(let error)):
      return error.map { end($0) } ?? keep(file)
    case (.asking, .failed(let error, _, _)):
      let goesOn = request.precondition == .none && publication.goesOn(after: error)
      return goesOn ? proceed() : failed(error)
    case (.looking, .failed(let error, _, _)): return failed(error)
    case (.sending, .failed(let error, let sent, _)):
      return lost(error, sent: sent)
    case (.checking(let url), .sourceChecked(let error)):
      return error.map { end(request.ifExists == .update ? $0.leavingNewer : $0) } ?? measure(url)
    case (.measuring(let url), .answered(let answer)):
      // What WebDAV stores is a file.
      let isFile = measures == .byProperties || !StoredLength.isDocument(answer.head, of: request)
      return measured(isFile ? StoredLength.head(answer.head, of: request) : nil, at: url)
    case (.measuring(let url), .failed): return measured(nil, at: url)
    case (.comparing(let head), .answered(let answer)):
      return compared(StoredLength.property(answer) ?? head)
    case (.comparing(let head), .failed): return compared(head)
    default: return []
    }
  }

  /// The same, for the machine that passes it on.
  mutating func take(_ event: UploadEvent, in outer: UploadAttempts) -> [UploadCommand] {
    attempts.follow(outer)
    return take(event)
  }

  private func isFullySent(_ sent: Int64) -> Bool { length.map { sent >= $0 } ?? false }

  private mutating func begin() -> [UploadCommand] {
    guard asksFirst else { return proceed() }
    (state, askedAt) = (.asking, attempts.now)
    return [
      .send(
        request.asksForExisting
          ? .compare(request.url, of: request)
          : UploadMessage("HEAD", request.url, fields: request.headers))
    ]
  }

  /// Sends the file, once its first bytes were read.
  mutating func proceed() -> [UploadCommand] {
    guard publication.isRead else {
      state = .reading
      return [.read(UploadExtent.window)]
    }
    return isConditionRefused ? look(at: request.url) : send(to: request.url)
  }

  mutating func send(to url: ResourceURL, after redirects: Int = 0) -> [UploadCommand] {
    state = .sending(url, redirects: redirects)
    if redirects == 0 { sendings += 1 }
    var fields = request.headers
    for (name, value) in conditions { fields.append(name, value) }
    var message = UploadMessage(request.method.rawValue, url, fields: fields)
    message.sendsStream = isStream
    if let length, !isStream, form == nil { message.range = 0..<length }
    if let form {
      message.pieces = form.pieces
      message.fields.remove("Content-Type")
      message.fields.append("Content-Type", form.contentType)
    }
    return [.send(message)]
  }

  /// Handles the answer to HEAD. A server that does not answer it may still know the condition that
  /// the upload is sent with.
  private mutating func found(
    _ answer: UploadAnswer, _ judge: UploadJudge
  ) -> [UploadCommand] {
    let head = answer.head
    switch head.status {
    case 404, 410, 403, 405, 501: break
    case 200..<300 where request.asksForExisting:
      learn(head)
      let elapsed = attempts.now - askedAt
      let date = StoredDate(head.headers["Last-Modified"], in: answer, elapsed: elapsed)
      return existing(head, isLater: changed.flatMap { date?.isLater(than: $0) } ?? false)
        ?? proceed()
    case 200..<300 where request.precondition == .none: break
    case 200..<300: return end(conflict(head.status))
    case 500..<600: return failed(judge.failure(of: head, to: request).ofQuestion)
    default:
      guard request.precondition == .none else {
        return self.judge(head, of: request.url, 0, isFullySent: false, judge)
      }
      let error = judge.failure(of: head, to: request)
      if error.isRetryable { return failed(error) }
    }
    learn(head)
    return proceed()
  }

  private mutating func judge(
    _ head: ResponseHead, of url: ResourceURL, _ redirects: Int, isFullySent: Bool,
    _ judge: UploadJudge
  ) -> [UploadCommand] {
    var asked = request
    asked.url = url
    switch judge.verdict(on: head, to: asked, isFullySent: isFullySent) {
    case .accepted:
      state = .checking(url)
      // What 202 promises need not be there yet.
      if head.status == 202 { measures = .never }
      return judge.reply.map { [.reportReply($0), .checkSource] } ?? [.checkSource]
    case .early:
      return fail(
        .protocolViolation, "the server answered \(head.status) before it had the whole file",
        status: head.status)
    case .redirected(let target):
      guard redirects < Self.maximumRedirects else {
        return fail(.tooManyRedirects, "more than \(Self.maximumRedirects) redirects")
      }
      guard !attempts.isSpent else {
        return end(
          judge.error(
            .redirectRefused, head,
            "a part of the source was sent; upload to \(target.redacted)"))
      }
      return send(to: target, after: redirects + 1)
    case .failure(let error) where error.code == .nameConflict:
      return beginning == nil || isConditionRefused
        ? end(conflict(head.status)) : look(at: url)
    case .failure(let error) where mayRefuseCondition(head.status):
      return conditionRefused(error, at: url)
    // It may conflict with what this run has sent.
    case .failure(let error)
    where publication.beginning == nil && mayHaveArrived && [409, 412].contains(head.status):
      return end(error.advising(TransferError.comparing))
    case .failure(let error):
      // A proxy may not have waited for the server.
      if publication.beginning != nil, isFullySent, head.status >= 500 { noteArrival() }
      return lost(error, sent: 0)
    }
  }

  private static let maximumRedirects = 20

  private mutating func measure(_ url: ResourceURL) -> [UploadCommand] {
    guard measures != .never, length != nil else { return finish(.completed) }
    state = .measuring(url)
    return [.send(.measure(url, of: request))]
  }

  private mutating func measured(_ found: Int64?, at url: ResourceURL) -> [UploadCommand] {
    guard measures == .byProperties, found != length else { return compared(found) }
    state = .comparing(head: found)
    var message = UploadMessage.properties(url, of: request)
    message.isOptional = true
    return [.send(message)]
  }

  private mutating func compared(_ found: Int64?) -> [UploadCommand] {
    guard let length, let found, found != length else { return finish(.completed) }
    noteArrival()
    let error = attempts.mismatch(found, of: length)
    // It may be the file of another run, which must not be replaced.
    return publication.publishesOnce
      ? end(error.advising("another run may have stored its file: look there")) : failed(error)
  }

  var mayBeOwn: Bool { attempts.mayHaveArrived }

  func conflict(_ status: Int) -> TransferError { attempts.conflict(status: status) }

  mutating func end(_ end: UploadEnd) -> [UploadCommand] { finish(end) }

  private mutating func noteArrival() { (mayHaveArrived, attempts.mayHaveArrived) = (true, true) }

  /// The server has not said that it took the file. A POST may have had its effect all the same.
  private mutating func lost(_ error: TransferError, sent: Int64) -> [UploadCommand] {
    if error.hadConnection, isFullySent(sent) { noteArrival() }
    guard !error.hadConnection || request.isIdempotent || !error.isRetryable else {
      return end(
        error.advising("the server may have taken the file: look there before you retry"))
    }
    return failed(error)
  }
}
