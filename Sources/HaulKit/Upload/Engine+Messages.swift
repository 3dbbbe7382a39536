import HaulCore
import Logging

/// Messages of uploads.
extension Engine {
  /// The keys that sign a message; nil if it is not signed, or its address has them.
  /// - Throws: why there are none; `CancellationError`.
  func keys(for message: UploadMessage, of upload: UploadRequest) async throws -> S3Credentials? {
    guard let source = upload.keySource, message.signing != nil, message.url.credentials == nil
    else { return nil }
    // What a client over TCP asks for has no key of its owner.
    guard upload.roots == nil else { throw Self.noRoleForClients }
    return try await s3Keys.keys(of: source)
  }

  static let noRoleForClients = TransferError(
    .forbidden, "keys of a role are not for what came over TCP")

  /// Sends a message.
  /// - Parameters:
  ///   - body: the bytes of the source that it sends; nil for none.
  ///   - length: of that body, in bytes; nil if it is not known.
  ///   - keys: those of the source of keys.
  ///   - limit: how long the answer may take; nil for as long as the transport waits.
  func send(
    _ message: UploadMessage, body: SendRequest.Body? = nil, length: Int64? = 0,
    of upload: UploadRequest, _ keys: S3Credentials?, in session: TransferID? = nil,
    within limit: Duration? = nil
  ) async throws -> SendResponse {
    var request = SendRequest(
      message, body: body, length: length, of: upload, keys, at: clock.wallSeconds)
    request.session = session
    try await authorize(&request, of: upload)
    log(asks: message, of: upload, session)
    let answer = try await transport.send(request, within: limit, by: clock)
    log(answer.head, to: message, of: upload, session)
    await note(answer.head, to: request, of: upload)
    guard let source = upload.keySource, let keys else { return answer }
    if S3Failure.isKeyGone(answer) { s3Keys.refused(keys, of: source) }
    return answer.without([keys.secretAccessKey, keys.sessionToken])
  }
}

extension Engine {
  private static let limitOfQuestion: Duration = .seconds(20)
  private static let attemptsOfQuestion = 3

  /// Sends a small message that is no part of an upload, and again after a failure that need not
  /// last.
  func answer(
    to message: UploadMessage, of upload: UploadRequest
  ) async throws(TransferError) -> UploadAnswer {
    var attempt = 0
    while true {
      attempt += 1
      do {
        let keys = try await keys(for: message, of: upload)
        let answer = try await send(message, of: upload, keys, within: Self.limitOfQuestion)
        guard answer.head.status >= 500, attempt < Self.attemptsOfQuestion else {
          return UploadAnswer(
            answer.head, body: answer.body, isWhole: answer.isWhole, sent: 0,
            wallSeconds: clock.wallSeconds)
        }
        try await clock.sleep(until: clock.now + .seconds(attempt))
      } catch let error as TransferError {
        guard error.isRetryable, attempt < Self.attemptsOfQuestion else { throw error }
      } catch {
        throw TransferError(.cancelled, "the transfer was stopped")
      }
    }
  }
}

extension TransferManager {
  /// Asks a store whether it obeys the conditions by which runs do not replace each other's object.
  /// - Parameter upload: an upload to it.
  /// - Returns: the probe at its end.
  package func conditions(
    ofStoreOf upload: UploadRequest
  ) async throws(TransferError) -> S3ConditionProbe {
    let (engine, number) = (coordinator.engine, UInt64.random(in: .min ... .max))
    let name = "haul-probe-\(String(number, radix: 16))"
    var probe = try S3ConditionProbe(beside: upload, named: name)
    while let message = probe.message {
      do throws(TransferError) {
        probe.take(.success(try await engine.answer(to: message, of: probe.request)))
      } catch {
        probe.take(.failure(error))
      }
    }
    return probe
  }
}

/// The log has the address that the user gave: those that a server chooses for an upload may be
/// secrets.
extension Engine {
  private func log(asks message: UploadMessage, of upload: UploadRequest, _ id: TransferID?) {
    logger.debug(
      "\(message.method) for \(upload.url.redacted)", metadata: Self.metadata(message, id))
  }

  private func log(
    _ head: ResponseHead, to message: UploadMessage, of upload: UploadRequest, _ id: TransferID?
  ) {
    logger.debug(
      "answer \(head.status) \(head.version) to \(message.method) for \(upload.url.redacted)",
      metadata: Self.metadata(message, id))
    // What it says when it takes a part is compared, or of no use.
    if message.method == "HEAD" { logUncheckedDigests(in: head, Self.metadata(message, id)) }
  }

  private static func metadata(_ message: UploadMessage, _ id: TransferID?) -> Logger.Metadata {
    var metadata: Logger.Metadata = ["part": "\(message.part)"]
    if let id { metadata["transfer"] = "\(id)" }
    if let range = message.range {
      metadata["range"] = "\(range.lowerBound)..<\(range.upperBound)"
    }
    return metadata
  }
}

extension SendResponse {
  /// A store may repeat what it was sent, and its words are shown.
  func without(_ secrets: [String?]) -> SendResponse {
    let secrets = secrets.compactMap(\.self).filter { !$0.isEmpty }
    let text = String(decoding: body, as: UTF8.self)
    guard secrets.contains(where: { text.hasBytes($0) }) else { return self }
    let hidden = secrets.reduce(text) { text, secret in
      var (rest, shown) = (text[...], "")
      while let found = rest.firstByteRange(of: secret) {
        shown += rest[..<found.lowerBound]
        rest = rest[found.upperBound...]
      }
      return shown + rest
    }
    return SendResponse(head: head, body: Array(hidden.utf8), isWhole: isWhole)
  }
}
