import HaulCore
import Logging
import NIOConcurrencyHelpers

/// What the transfers of a manager know of their credentials.
struct CredentialState: Sendable {
  /// A request that was not sent, because its credential is refused.
  struct Held: Sendable {
    let url: ResourceURL
    let fields: HeaderFields
    let bearerFile: String?
  }

  var refusals = CredentialRefusals()
  /// Those of transfers that wait for others.
  var held: [TransferID: Held] = [:]
}

/// Requests that carry a credential: each has the token that its file has now, and none is sent
/// with one that its host refuses.
extension Engine {
  /// How long the question may take that shows whether a credential is refused everywhere.
  private static let limitOfQuestion: Duration = .seconds(20)
  /// How long a transfer that may not wait in the queue waits for another token than one that has
  /// expired.
  private static let limitOfRenewal: Duration = .seconds(60)

  /// - Throws: `not-tried` for a refused credential, and the errors of the transport.
  func sendAuthorized(
    _ request: FetchRequest, _ idleTimer: IdleTimer?
  ) async throws -> FetchResponse {
    var sent = request
    sent.headers = await currentFields(request.headers, request.bearerFile, request.isOfClient)
    try check(sent.url, sent.headers, request.bearerFile, of: request.session)
    var response = try await transport.fetch(sent)
    if response.head.isRefusal(by: request.url.origin), request.bearerFile != nil {
      // That does not count toward the idle timeout.
      idleTimer?.end()
      let fields = try await renewedFields(of: request, after: sent.headers)
      idleTimer?.begin(at: clock.now)
      if fields != sent.headers {
        sent.headers = fields
        response = try await transport.fetch(sent)
      }
    }
    guard let opened = note(response.head, to: sent, wasRead: true) else {
      return response
    }
    // Its answer does not count toward the idle timeout.
    idleTimer?.end()
    await ask(opened, as: sent)
    idleTimer?.begin(at: clock.now)
    return response
  }

  /// The fields with the token that was written while a request was under way, or soon after. A
  /// token that was never accepted is wrong, and not waited for.
  private func renewedFields(
    of request: FetchRequest, after refused: HeaderFields
  ) async throws -> HeaderFields {
    let credential = SentCredential(to: request.url, refused)
    let hasExpired = credentials.withLockedValue { state in
      credential.map { state.refusals.hasAccepted($0) } ?? false
    }
    let end = clock.now + (hasExpired && !waitsForCredentials ? Self.limitOfRenewal : .zero)
    while true {
      let fields = await currentFields(request.headers, request.bearerFile, request.isOfClient)
      if fields != refused || clock.now >= end { return fields }
      try await clock.sleep(until: clock.now + .seconds(2))
    }
  }

  /// The fields of a message of an upload to its own server.
  /// - Throws: `not-tried` for a refused credential.
  func authorize(_ request: inout SendRequest, of upload: UploadRequest) async throws {
    guard request.isAuthorized(by: upload) else { return }
    request.headers = await currentFields(
      request.headers, upload.bearerFile, request.isOfClient)
    try check(request.url, request.headers, upload.bearerFile, of: request.session)
  }

  /// Notes the answer to such a message. What was sent is not sent again to find out more.
  func note(_ head: ResponseHead, to request: SendRequest, of upload: UploadRequest) async {
    guard request.isAuthorized(by: upload),
      let opened = note(head, to: FetchRequest(request), wasRead: false)
    else { return }
    var question = FetchRequest(request)
    question.session = nil
    await ask(opened, as: question)
  }

  /// Which of these transfers may be tried: their files have other tokens by now, or nothing is
  /// known against their credentials.
  func freeCredentials(of ids: [TransferID]) async -> Set<TransferID> {
    let held = credentials.withLockedValue { $0.held }
    var (free, tokens): (Set<TransferID>, [String: String?]) = ([], [:])
    for id in ids {
      guard let one = held[id] else {
        free.insert(id)
        continue
      }
      var fields = one.fields
      if let file = one.bearerFile {
        if tokens[file] == nil { tokens[file] = .some(await field(in: file)) }
        fields.authorize(tokens[file] ?? nil)
      }
      let credential = SentCredential(to: one.url, fields)
      let isHeld = credentials.withLockedValue { state in
        credential.map { state.refusals.holds($0, at: one.url) } ?? false
      }
      if !isHeld { free.insert(id) }
    }
    let (still, known) = (free, Set(ids))
    credentials.withLockedValue { state in
      state.held = state.held.filter { known.contains($0.key) && !still.contains($0.key) }
    }
    return free
  }

  /// The transfers whose credentials turned out to be refused after their own requests were.
  var transfersWithRefusedCredentials: [TransferID] {
    waitsForCredentials ? credentials.withLockedValue { $0.refusals.heldTransfers } : []
  }

  /// These transfers wait, or need not.
  func forgetRefusals(of ids: [TransferID]) {
    credentials.withLockedValue { $0.refusals.forget(ids) }
  }

  /// Forgets what these hosts have refused: their user wants another try.
  func forgiveCredentials(at hosts: Set<String>) {
    credentials.withLockedValue { state in for host in hosts { state.refusals.forgive(host) } }
  }

  private func check(
    _ url: ResourceURL, _ fields: HeaderFields, _ bearerFile: String?, of id: TransferID?
  ) throws(TransferError) {
    guard let credential = SentCredential(to: url, fields) else { return }
    let isHeld = credentials.withLockedValue { state in
      guard state.refusals.holds(credential, at: url) else { return false }
      if let id, waitsForCredentials {
        state.held[id] = .init(url: url, fields: fields, bearerFile: bearerFile)
      }
      return true
    }
    if isHeld { throw .notTried(url.origin) }
  }

  /// - Returns: an address to ask again with this credential.
  private func note(
    _ head: ResponseHead, to request: FetchRequest, wasRead: Bool
  ) -> ResourceURL? {
    let url = request.url
    // A copy of a cache says nothing.
    guard head.cacheUse == nil, let credential = SentCredential(to: url, request.headers) else {
      return nil
    }
    let answer = CredentialRefusals.Answer(
      status: head.status, leftOrigin: head.url.origin != url.origin, wasRead: wasRead)
    let id = waitsForCredentials ? request.session : nil
    return credentials.withLockedValue { $0.refusals.note(answer, to: credential, at: url, of: id) }
  }

  /// Asks for one byte of an address that the credential has opened before.
  private func ask(_ opened: ResourceURL, as refused: FetchRequest) async {
    guard let credential = SentCredential(to: refused.url, refused.headers) else { return }
    var question = refused
    (question.url, question.firstByte, question.lastByte) = (opened, 0, 0)
    (question.ifRange, question.isAdditional, question.needsConfirmation) = (nil, false, true)
    let isPaused = scheduler.update { [clock] in
      $0.pauseEnd(of: opened.origin.authority).map { $0 > clock.now } ?? false
    }
    let status = isPaused ? nil : await status(of: question)
    let isRefused = status.map { $0 == 401 }
    credentials.withLockedValue { $0.refusals.asked(credential, isRefused: isRefused) }
    if isRefused == true {
      logger.warning("\(opened.origin) refuses credentials that it accepted before")
    }
  }

  /// Nil if there is no answer.
  private func status(of request: FetchRequest) async -> Int? {
    await withTaskGroup(of: Int?.self) { [transport, clock] group in
      defer { group.cancelAll() }
      // Without an answer, nothing is known.
      group.addTask { try? await transport.fetch(request).head.status }
      group.addTask {
        try? await clock.sleep(until: clock.now + Self.limitOfQuestion)  // ends when cancelled
        return nil
      }
      return await group.next() ?? nil
    }
  }

  /// The fields with the token that the file has now.
  private func currentFields(
    _ fields: HeaderFields, _ file: String?, _ isOfClient: Bool
  ) async -> HeaderFields {
    // A client over TCP must not have files of the owner read.
    guard let file, !isOfClient else { return fields }
    var fields = fields
    fields.authorize(await field(in: file))
    return fields
  }

  /// Nil if it cannot be read now: the last token counts then.
  private func field(in file: String) async -> String? {
    guard let bearerField else { return nil }
    do {
      return try await io.run { () throws(TransferError) in try bearerField(file) }
    } catch {
      logger.warning("the token in \(file) cannot be read, so the last one is sent")
      return nil
    }
  }
}

extension HeaderFields {
  /// Puts a value in place of its `Authorization`; nil changes nothing.
  fileprivate mutating func authorize(_ value: String?) {
    guard let value, let old = self["Authorization"], old != value else { return }
    remove("Authorization")
    append("Authorization", value)
  }
}

extension ResponseHead {
  /// Whether the origin that got the credential refuses it.
  fileprivate func isRefusal(by origin: ResourceURL.Origin) -> Bool {
    status == 401 && url.origin == origin
  }
}

extension SendRequest {
  /// Whether it has the credential of the upload: it goes to the same server, and is not signed.
  fileprivate func isAuthorized(by upload: UploadRequest) -> Bool {
    upload.method != .s3 && url.origin == upload.url.origin
  }
}
