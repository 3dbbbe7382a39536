/// Decides everything about one upload with PUT or POST: what to send, which answers mean success,
/// and when to try again. It takes events and returns commands, and has no side effects.
///
/// Such an upload cannot resume: each attempt sends the whole file.
package struct PutMachine: UploadMachine {
  private enum State: Sendable {
    case waiting, asking, sending, checking, done
    /// What the server has. HEAD is first, and has found this; PROPFIND decides.
    case measuring
    case comparing(head: Int64?)
  }

  /// How the server is asked for the length of what it has, once it has taken the file.
  package enum Measure: Sendable { case never, byHead, byProperties }

  private let request: UploadRequest
  /// In bytes; nil for a stream until its end was sent.
  private var length: Int64?
  private let isStream: Bool
  private let form: FormBody?
  private var measures: Measure
  private var state = State.waiting
  private var url: ResourceURL
  private var redirects = 0
  /// Whether an attempt without an answer may have succeeded.
  private var mayHaveArrived: Bool
  package var attempts: UploadAttempts

  /// - Parameters:
  ///   - length: of the file, in bytes; nil for a stream.
  ///   - form: is sent instead of the file.
  ///   - hasRun: whether an earlier run may have sent it.
  ///   - measures: which other requests than PUT the server answers, as far as is known.
  package init(
    _ request: UploadRequest, length: Int64?, form: FormBody? = nil, hasRun: Bool,
    measures: Measure = .byHead, isAttended: Bool, now: Instant
  ) {
    self.request = request
    self.length = form?.length ?? length
    isStream = length == nil
    self.form = form
    self.measures = request.method != .post && form == nil ? measures : .never
    mayHaveArrived = hasRun
    url = request.url
    attempts = UploadAttempts(request, isAttended: isAttended, now: now)
  }

  /// Handles one event, and returns what to do, in order.
  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    switch (state, event) {
    case (_, .read(let extent)):
      length = extent.length
      return []
    case (.waiting, .start): return begin()
    case (.asking, .answered(let answer)):
      attempts.noteAnswer()
      return found(answer.head, UploadJudge(answer, of: request))
    case (.sending, .answered(let answer)):
      attempts.noteAnswer()
      return judge(
        answer.head, isFullySent: isFullySent(answer.sent), UploadJudge(answer, of: request))
    case (.asking, .failed(let error, _, _)): return failed(error)
    case (.sending, .failed(let error, let sent, _)):
      return lost(error, sent: sent)
    case (.checking, .sourceChecked(let error)):
      return error.map { finish(.failed($0)) } ?? measure()
    case (.measuring, .answered(let answer)):
      return measured(StoredLength.head(answer.head, of: request))
    case (.measuring, .failed): return measured(nil)
    case (.comparing(let head), .answered(let answer)):
      return compared(StoredLength.property(answer) ?? head)
    case (.comparing(let head), .failed): return compared(head)
    default: return []
    }
  }

  private func isFullySent(_ sent: Int64) -> Bool { length.map { sent >= $0 } ?? false }

  private mutating func begin() -> [UploadCommand] {
    guard request.precondition == .absent else { return send(to: request.url) }
    state = .asking
    return [.send(UploadMessage("HEAD", request.url, fields: request.fields))]
  }

  private mutating func send(to url: ResourceURL) -> [UploadCommand] {
    (state, self.url) = (.sending, url)
    var fields = request.fields
    switch request.precondition {
    case .none: break
    case .absent: fields.append("If-None-Match", "*")
    case .entityTag(let tag): fields.append("If-Match", tag)
    }
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
  private mutating func found(_ head: ResponseHead, _ judge: UploadJudge) -> [UploadCommand] {
    switch head.status {
    case 404, 410, 403, 405, 501: return send(to: request.url)
    case 200..<300: return finish(.failed(conflict(status: head.status)))
    default: return self.judge(head, isFullySent: false, judge)
    }
  }

  private func conflict(status: Int) -> TransferError {
    .isStoredAlready(perhapsByThis: mayHaveArrived, status: status)
  }

  private mutating func judge(
    _ head: ResponseHead, isFullySent: Bool, _ judge: UploadJudge
  ) -> [UploadCommand] {
    var asked = request
    asked.url = url
    switch judge.verdict(on: head, to: asked, isFullySent: isFullySent) {
    case .accepted:
      state = .checking
      // What 202 promises need not be there yet.
      if head.status == 202 { measures = .never }
      return judge.reply.map { [.reportReply($0), .checkSource] } ?? [.checkSource]
    case .early:
      return finish(
        .failed(
          TransferError(
            .protocolViolation,
            "the server answered \(head.status) before it had the whole file",
            status: head.status)))
    case .redirected(let target):
      redirects += 1
      guard redirects <= Self.maximumRedirects else {
        return finish(
          .failed(TransferError(.tooManyRedirects, "more than \(Self.maximumRedirects) redirects")))
      }
      guard !attempts.isSpent else {
        let moved = judge.error(
          .redirectRefused, head, "a part of the source was sent; upload to \(target.redacted)")
        return finish(.failed(moved))
      }
      return send(to: target)
    case .failure(let error) where error.code == .nameConflict:
      return finish(.failed(conflict(status: head.status)))
    case .failure(let error): return lost(error, sent: 0)
    }
  }

  private static let maximumRedirects = 20

  private mutating func measure() -> [UploadCommand] {
    guard measures != .never, length != nil else { return finish(.completed) }
    state = .measuring
    return [.send(.measure(url, of: request))]
  }

  private mutating func measured(_ found: Int64?) -> [UploadCommand] {
    guard measures == .byProperties, found != length else { return compared(found) }
    state = .comparing(head: found)
    var message = UploadMessage.properties(url, of: request)
    message.isOptional = true
    return [.send(message)]
  }

  private mutating func compared(_ found: Int64?) -> [UploadCommand] {
    guard let length, let found, found != length else { return finish(.completed) }
    mayHaveArrived = true
    return failed(StoredLength.mismatch(found, of: length))
  }

  /// The server has not said that it took the file. A POST may have had its effect all the same.
  private mutating func lost(_ error: TransferError, sent: Int64) -> [UploadCommand] {
    if error.hadConnection, isFullySent(sent) { mayHaveArrived = true }
    guard !error.hadConnection || request.isIdempotent || !error.isRetryable else {
      return finish(
        .failed(
          TransferError(
            error.code, error.fact,
            advice: "the server may have taken the file: look there before you retry",
            status: error.status)))
    }
    return failed(error)
  }

  private mutating func failed(_ error: TransferError) -> [UploadCommand] {
    switch attempts.failed(error) {
    case .failure(let error): return finish(.failed(error))
    case .success(let retry):
      (state, url, redirects) = (.waiting, request.url, 0)
      return [retry]
    }
  }

  private mutating func finish(_ end: UploadEnd) -> [UploadCommand] {
    state = .done
    return [.finish(end)]
  }
}
