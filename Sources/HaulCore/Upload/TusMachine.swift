import FoundationEssentials

/// Decides everything about one upload by the tus protocol, version 1.0.0. The server says how many
/// bytes it has, and the upload continues there: after a lost connection, a pause or a crash.
package struct TusMachine: UploadMachine {
  private enum State: Sendable {
    case waiting, discovering, creating, storing, asking, reading, appending, checking, done
  }

  private let request: UploadRequest
  private let source: SourceIdentity
  /// What of the source can be sent.
  private var extent: UploadExtent
  /// Whether the server knows the length.
  private var isLengthSent = false
  private var state = State.waiting
  /// The upload on the server; nil before it is created.
  private var record: UploadRecord?
  private var url: ResourceURL
  /// The bytes that the server has.
  private var offset: Int64 = 0
  /// The bytes that it may have at most: those that were sent to it, or all after a crash.
  private var mostSent: Int64 = 0
  /// Whether an upload that the server no longer had was replaced by a new one.
  private var hasStartedOver = false
  package var attempts: UploadAttempts

  /// - Parameter extent: what of the source can be sent; nil for all of a file.
  package init(
    _ request: UploadRequest, source: SourceIdentity, extent: UploadExtent? = nil,
    isAttended: Bool, now: Instant
  ) {
    self.request = request
    self.source = source
    self.extent = extent ?? UploadExtent(end: source.size)
    url = request.url
    attempts = UploadAttempts(request, isAttended: isAttended, now: now)
  }

  private static let version = "1.0.0"

  package mutating func handle(
    _ event: UploadEvent, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    switch (state, event) {
    case (.waiting, .start(let stored, _)): return start(stored)
    case (.storing, .stored(nil)): return append()
    case (.storing, .stored(let error?)): return finish(.failed(error))
    case (.reading, .read(let extent)):
      self.extent = extent
      return append()
    case (.checking, .sourceChecked(let error)):
      return [.deleteRecord] + finish(error.map { .failed($0) } ?? .completed)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      mostSent = max(mostSent, offset + answer.sent)
      let judge = UploadJudge(wallSeconds: answer.wallSeconds)
      return answered(answer.head, answer.sent, judge, at: now, using: &rng)
    case (_, .failed(let error, let sent, _)):
      mostSent = max(mostSent, offset + sent)
      return failed(error, at: now, using: &rng)
    default: return []
    }
  }

  /// Continues an upload of the same version of the file; any other is left to the server, which
  /// deletes it some day.
  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand] {
    if record == nil, let stored, stored.source == source,
      let known = request.address(of: stored)
    {
      (record, url, mostSent) = (stored, known, source.size)
    }
    return record == nil ? discover() : ask()
  }

  /// The request that deletes an upload from its server; nil if its address cannot be read.
  package static func termination(
    of record: UploadRecord, _ request: UploadRequest
  ) -> UploadMessage? {
    request.address(of: record).map { message("DELETE", $0, request) }
  }

  private static func message(
    _ method: String, _ url: ResourceURL, _ request: UploadRequest, _ own: [(String, String)] = [],
    range: ByteRange? = nil
  ) -> UploadMessage {
    // The caller's fields may be secrets of the first server.
    var fields = url.origin == request.url.origin ? request.fields : HeaderFields()
    // The type of the file is in its metadata.
    fields.remove("Content-Type")
    if method != "OPTIONS" { fields.append("Tus-Resumable", version) }
    for (name, value) in own { fields.append(name, value) }
    return UploadMessage(method, url, fields: fields, range: range)
  }

  private func send(
    _ method: String, _ url: ResourceURL, _ own: [(String, String)] = [], range: ByteRange? = nil
  ) -> [UploadCommand] {
    [.send(Self.message(method, url, request, own, range: range))]
  }

  private mutating func discover() -> [UploadCommand] {
    state = .discovering
    return send("OPTIONS", request.url)
  }

  private mutating func create() -> [UploadCommand] {
    (state, isLengthSent) = (.creating, extent.isWhole)
    // Some servers refuse an upload without a type.
    let name = request.source.pathParts.name
    let metadata = [
      ("filename", name.isEmpty ? "stream" : name),
      ("filetype", request.fields["Content-Type"] ?? "application/octet-stream"),
    ].map { "\($0) \(Data($1.utf8).base64EncodedString())" }.joined(separator: ",")
    let length =
      extent.length.map { ("Upload-Length", "\($0)") } ?? ("Upload-Defer-Length", "1")
    return send("POST", request.url, [length, ("Upload-Metadata", metadata)], range: 0..<0)
  }

  private mutating func ask() -> [UploadCommand] {
    state = .asking
    return send("HEAD", url)
  }

  private mutating func append() -> [UploadCommand] {
    guard offset < extent.end else {
      guard !extent.isWhole else { return complete() }
      state = .reading
      return [.read(UploadExtent.window)]
    }
    state = .appending
    var fields = [
      ("Upload-Offset", "\(offset)"), ("Content-Type", "application/offset+octet-stream"),
    ]
    if !isLengthSent, let length = extent.length { fields.append(("Upload-Length", "\(length)")) }
    return send("PATCH", url, fields, range: offset..<extent.end)
  }

  private mutating func complete() -> [UploadCommand] {
    state = .checking
    return [.checkSource]
  }

  private mutating func answered(
    _ head: ResponseHead, _ sent: Int64, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let isSuccess = (200..<300).contains(head.status)
    switch (state, head.status) {
    case (.discovering, _) where isSuccess: return discovered(head)
    // A server without OPTIONS may still speak the protocol.
    case (.discovering, 404), (.discovering, 405), (.discovering, 501):
      return extent.isWhole ? create() : fail(.httpStatus, Self.lengthNeeded)
    case (.creating, 201): return created(head)
    case (.asking, _) where isSuccess: return found(head)
    case (.asking, 403), (.asking, 404), (.asking, 410), (.appending, 404), (.appending, 410):
      return startOver(head, judge, at: now, using: &rng)
    case (.appending, _) where isSuccess: return appended(head, sent, at: now, using: &rng)
    // The server has another offset, or the connection before still writes.
    case (.appending, 409), (.appending, 460):
      return failed(
        judge.error(.httpStatus, head, "it has another part of the file", isRetryable: true),
        at: now, using: &rng)
    case (_, 412):
      return finish(
        .failed(judge.error(.httpStatus, head, "it does not speak version 1.0.0 of tus")))
    default: return failed(judge.failure(of: head, to: request), at: now, using: &rng)
    }
  }

  private mutating func discovered(_ head: ResponseHead) -> [UploadCommand] {
    let versions = Self.list(head.headers["Tus-Version"])
    guard versions.contains(Self.version[...]) else {
      return fail(.httpStatus, "the server does not speak tus 1.0.0 there; check the address")
    }
    let extensions = Self.list(head.headers["Tus-Extension"])
    guard extensions.contains("creation") else {
      return fail(.httpStatus, "the server's tus cannot create uploads there")
    }
    guard extent.isWhole || extensions.contains("creation-defer-length") else {
      return fail(.httpStatus, Self.lengthNeeded)
    }
    if let most = head.headers.single("Tus-Max-Size").flatMap({ Int64($0) }), extent.end > most {
      return fail(.tooLarge, "the server takes at most \(most) bytes")
    }
    return create()
  }

  private static let lengthNeeded =
    "the server's tus needs the length beforehand; save the source to a file and upload that"

  private static func list(_ value: String?) -> [Substring] {
    value?.split { $0 == "," || $0 == " " } ?? []
  }

  private mutating func created(_ head: ResponseHead) -> [UploadCommand] {
    guard let location = head.headers["Location"], let target = try? request.url.resolving(location)
    else {
      return fail(.protocolViolation, "the server does not say where to upload to")
    }
    url = target.adoptingCredentials(of: request.url)
    let record = UploadRecord(address: target.absoluteString, source: source)
    (self.record, offset, mostSent, state) = (record, 0, 0, .storing)
    return [.storeRecord(record)]
  }

  /// The offset that the server reports is the truth, if it is possible.
  private mutating func found(_ head: ResponseHead) -> [UploadCommand] {
    guard let position = head.headers.single("Upload-Offset").flatMap({ Int64($0) }),
      (0...min(extent.end, mostSent)).contains(position)
    else {
      return fail(.protocolViolation, "the server reports bytes of the file that it was not sent")
    }
    if let length = head.headers.single("Upload-Length") {
      guard Int64(length) == extent.length else {
        return fail(.protocolViolation, "the server's upload has the length \(length)")
      }
      isLengthSent = true
    }
    guard position >= extent.start else {
      return fail(.protocolViolation, "the server has lost bytes that cannot be read again")
    }
    offset = position
    return [.reportAcknowledged(offset)] + append()
  }

  private mutating func appended(
    _ head: ResponseHead, _ sent: Int64, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    guard let position = head.headers.single("Upload-Offset").flatMap({ Int64($0) }),
      (offset...(offset + sent)).contains(position)
    else {
      return fail(.protocolViolation, "the server reports another number of bytes than sent")
    }
    isLengthSent = isLengthSent || extent.isWhole
    guard position > offset || extent.end == offset else {
      return failed(
        TransferError(.httpStatus, "the server took no byte", isRetryable: true), at: now,
        using: &rng)
    }
    offset = position
    return [.reportAcknowledged(offset)] + append()
  }

  /// The server no longer has the upload: a new one begins, once in a run.
  private mutating func startOver(
    _ head: ResponseHead, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    guard !hasStartedOver, record != nil, extent.start == 0 else {
      return failed(judge.failure(of: head, to: request), at: now, using: &rng)
    }
    (hasStartedOver, record, offset, mostSent) = (true, nil, 0, 0)
    return [.deleteRecord, .reportAcknowledged(0)] + discover()
  }

  private mutating func failed(
    _ error: TransferError, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    switch attempts.failed(error, progress: (offset, extent.end), at: now, using: &rng) {
    case .failure(let error): return finish(.failed(error))
    case .success(let retry):
      state = .waiting
      return [retry]
    }
  }

  private mutating func fail(_ code: TransferError.Code, _ reason: String) -> [UploadCommand] {
    finish(.failed(TransferError(code, reason)))
  }

  private mutating func finish(_ end: UploadEnd) -> [UploadCommand] {
    state = .done
    return [.finish(end)]
  }
}
