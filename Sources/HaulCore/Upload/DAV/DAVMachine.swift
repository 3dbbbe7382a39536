/// Decides everything about one upload to a WebDAV server (RFC 4918). The file goes to a temporary
/// name in its directory. It gets its own name once the server has it whole, so that nobody reads a
/// part of it there.
package struct DAVMachine: UploadMachine, PublishingUpload {
  enum State: UploadStates {
    case waiting, asking, storing, reading, sending, checking, moving
    /// The directory of this level in `addresses` is made. Once one was found or made, those below
    /// it are missing.
    case making(level: Int, isDescending: Bool)
    /// Whether the directory exists, after this refusal to make it.
    case lookingForDirectory(TransferError)
    /// What the server has. HEAD is first, and has found this; PROPFIND says what it did not.
    case looking(DAVQuestion, head: DAVFinding?)
    /// What has the name of the file.
    case lookingAtTarget(DAVTargetLook)
    /// What has the name of the file and was not there before, to compare it with the file.
    case comparing
    /// The same, once this is known of it: the bytes of the file are read, or the server is asked
    /// for what it has under the temporary name.
    case comparingFile(StoredContent)
    /// The server has the file already, if the one here did not change meanwhile.
    case confirming(PresentFile)
    /// The temporary name is deleted; then the upload ends.
    case cleaning(UploadEnd)
    /// The same; then the file is sent to its own name, because of this error.
    case clearing(TransferError)
    /// Decides instead, once the server is known not to move files.
    case plain(PutMachine, isCleared: Bool)
    case done
  }

  let request: UploadRequest
  private let source: SourceIdentity
  /// When the file of this machine changed last, in seconds since 1970; nil for another source.
  let changed: Double?
  /// Whether an earlier run may have sent something.
  let hasRun: Bool
  /// When the server was asked what has the name of the file.
  var askedAt = Instant()
  private(set) var addresses: DAVAddresses
  /// The length of the source, in bytes; nil for a stream until its end was sent.
  private(set) var length: Int64?
  private(set) var isStream: Bool
  /// Whether other runs may publish at the same time, and what the server had at the beginning.
  var publication: Publication<DAVBeginning>
  var state = State.waiting
  /// The temporary name, once it is chosen.
  var part: DAVPart?
  var target = DAVTarget.unasked
  /// Whether a MOVE without a clear answer may have had its effect.
  var mayHaveMoved = false
  /// Whether the server does not move files; then they are sent to their own name.
  var lacksMove = false
  /// How often MOVE was answered 200, which RFC 4918 does not know.
  var emptyMoves = 0
  /// How the next MOVE names where to.
  var destination = DAVDestination.path
  /// Of a MOVE that the server is at work on.
  private(set) var delay = DAVWait()
  /// Why the upload fails, unless a last look finds the file.
  var lastError: TransferError?
  package var attempts: UploadAttempts

  package init(_ start: UploadStart) {
    (request, source, isStream) = (start.request, start.source, !start.extent.isWhole)
    (changed, hasRun) = (start.changed, start.hasRun)
    publication = Publication(request)
    length = isStream ? nil : source.size
    addresses = DAVAddresses(request.url)
    attempts = UploadAttempts(start)
  }

  package mutating func take(_ event: UploadEvent) -> [UploadCommand] {
    switch (state, event) {
    case (.plain(var machine, let isCleared), _):
      let commands = machine.take(event, in: attempts)
      state = .plain(machine, isCleared: isCleared)
      guard !isCleared, case .finish(let last)? = commands.last else { return commands }
      // The server did not delete the temporary name before the file was sent.
      return commands.dropLast() + end(last)
    case (_, .streamSent(let length?)):
      self.length = length
      return []
    case (.waiting, .start(let stored, _)): return start(stored)
    case (.storing, .stored(nil)): return send()
    case (.storing, .stored(let error?)): return finish(.failed(error))
    case (.reading, .read(let extent)):
      (length, isStream, publication.isRead) = (extent.length, extent.length == nil, true)
      return send()
    case (.comparingFile(let content), .digested(_, .success(let digests))):
      return compared(content, with: digests)
    case (.comparingFile, .digested(_, .failure(let error))): return end(error)
    case (.checking, .sourceChecked(nil)): return publish()
    case (.confirming(let file), .sourceChecked(let error)):
      return error.map { end($0) } ?? keep(file)
    case (.checking, .sourceChecked(let error?)): return end(error)
    case (_, .answered(let answer)):
      attempts.noteAnswer()
      let judge = UploadJudge(answer, of: request)
      return answered(answer, judge)
    case (.cleaning(let end), .failed): return finish(end)
    case (.clearing(let error), .failed): return sendDirectly(because: error, isCleared: false)
    // The server took the file, and need not answer more.
    case (.looking(let question, let head), .failed) where question.isOptional:
      return found(.unclear(nil), question, head)
    case (.lookingAtTarget(.beforeMove), .failed): return move()
    // Then HEAD is tried.
    case (.lookingAtTarget(.first), .failed(let error, _, _)):
      return publication.goesOn(after: error) ? ask() : failed(error)
    case (.comparingFile(let content), .failed): return compared(content, with: [])
    case (.making(0, _), .failed(let error, _, _)) where error.hadConnection:
      return lookForDirectory(error)
    case (.moving, .failed(let error, _, _)):
      mayHaveMoved = true
      return failed(error)
    case (_, .failed(let error, _, _)): return failed(error)
    default: return []
    }
  }

  /// The request that deletes the temporary name of an upload; none if its address cannot be read.
  package static func terminations(
    of record: UploadRecord, _ request: UploadRequest
  ) -> [UploadMessage] {
    request.address(of: record).map { [message("DELETE", $0, request)] } ?? []
  }

  static func message(
    _ method: String, _ url: ResourceURL, _ request: UploadRequest, _ own: [(String, String)] = []
  ) -> UploadMessage {
    var fields = request.headers
    // It is the type of the file.
    if method != "PUT" { fields.remove("Content-Type") }
    for (name, value) in own { fields.append(name, value) }
    return UploadMessage(method, url, fields: fields)
  }

  mutating func send(
    _ state: State, _ method: String, _ url: ResourceURL, _ own: [(String, String)] = []
  ) -> [UploadCommand] {
    self.state = state
    return [.send(Self.message(method, url, request, own))]
  }

  // MARK: The way of a file

  private mutating func start(_ stored: UploadRecord?) -> [UploadCommand] {
    if case .entityTag = request.precondition {
      return fail(
        .notYetSupported, "WebDAV cannot replace only one version of a file",
        advice: "use plain PUT")
    }
    if part == nil, let stored, let known = request.address(of: stored),
      known.origin == request.url.origin
    {
      // What an earlier run left there is replaced.
      (part, attempts.mayHaveArrived) = (DAVPart(url: known, isStored: true), true)
    }
    if part == nil {
      part = addresses.sibling(DAVAddresses.temporaryName(attempts.random.next()))
        .map { DAVPart(url: $0) }
    }
    if mayHaveMoved { return look() }
    if part?.isWhole == true { return check() }
    if publication.isUnasked { return lookAtTarget(.first) }
    if request.precondition == .absent, !request.isDirectory { return ask() }
    return makeDirectory()
  }

  /// Asks whether there is a file.
  mutating func ask() -> [UploadCommand] {
    guard request.asksForExisting else { return send(.asking, "HEAD", addresses.target) }
    var message = UploadMessage.measure(addresses.target, of: request)
    (message.isOptional, state, askedAt) = (false, .asking, attempts.now)
    return [.send(message)]
  }

  mutating func makeDirectory() -> [UploadCommand] {
    guard !addresses.hasDirectory, addresses.directoryCount > 0 else { return sendPart() }
    return make(0)
  }

  private mutating func make(_ level: Int, isDescending: Bool = false) -> [UploadCommand] {
    send(
      .making(level: level, isDescending: isDescending), "MKCOL", addresses.directory(level))
  }

  mutating func sendPart() -> [UploadCommand] {
    addresses.hasDirectory = true
    guard !request.isDirectory else { return [.deleteRecord] + finish(.completed) }
    guard let part else { return fail(.badURL, "it has no directory") }
    guard !part.isStored else { return send() }
    state = .storing
    return [.storeRecord(UploadRecord(address: part.url.absoluteString, source: source))]
  }

  private mutating func send() -> [UploadCommand] {
    guard let part else { return [] }
    guard publication.isRead else {
      state = .reading
      return [.read(UploadExtent.window)]
    }
    self.part?.isStored = true
    state = .sending
    var message = Self.message("PUT", part.url, request)
    message.sendsStream = isStream
    if let length, !isStream { message.range = 0..<length }
    return [.send(message)]
  }

  mutating func check() -> [UploadCommand] {
    state = .checking
    return [.checkSource]
  }

  mutating func move() -> [UploadCommand] {
    guard let part else { return [] }
    return send(
      .moving, "MOVE", part.url,
      [
        ("Destination", destination.text(of: addresses.target)),
        ("Overwrite", target.isFile ? "T" : "F"),
      ])
  }

  /// Gives the file its name, once it is known what a MOVE would replace: some servers do not obey
  /// `Overwrite`, and some put the file elsewhere.
  private mutating func publish() -> [UploadCommand] {
    target == .unasked ? lookAtTarget(.beforeMove) : move()
  }

  mutating func lookAtTarget(_ look: DAVTargetLook) -> [UploadCommand] {
    state = .lookingAtTarget(look)
    if look == .first { askedAt = attempts.now } else { target = .asked }
    let url = addresses.target
    var message =
      look == .refusedByHead
      ? Self.message("HEAD", url, request) : .properties(url, of: request)
    message.isOptional = look == .beforeMove || look == .first
    return [.send(message)]
  }

  /// Asks what the server has.
  mutating func look(
    _ question: DAVQuestion = .part(), after head: DAVFinding? = nil
  ) -> [UploadCommand] {
    guard let part else { return [] }
    let url = question.isOfTarget ? addresses.target : part.url
    state = .looking(question, head: head)
    var message: UploadMessage =
      head == nil ? .measure(url, of: request) : .properties(url, of: request)
    message.isOptional = question.isOptional
    return [.send(message)]
  }

  /// The directory need not be missing, although the server refuses to make it.
  mutating func lookForDirectory(_ refusal: TransferError) -> [UploadCommand] {
    state = .lookingForDirectory(refusal)
    return [.send(.properties(addresses.directory(0), of: request))]
  }

  /// Makes the directory above the missing one; looks for that, if there is none.
  mutating func ascend(
    _ refusal: TransferError, from level: Int, isDescending: Bool
  ) -> [UploadCommand] {
    guard !isDescending, level + 1 < addresses.directoryCount else {
      return lookForDirectory(refusal)
    }
    return make(level + 1)
  }

  /// Makes the next directory below the one that exists.
  mutating func descend(from level: Int) -> [UploadCommand] {
    level > 0 ? make(level - 1, isDescending: true) : sendPart()
  }

  /// The server names another place of the same origin for the directory of the file.
  /// - Returns: nil if it has done so too often, or it cannot be read.
  mutating func relocate(beside other: ResourceURL) -> [UploadCommand]? {
    guard let part, let moved = addresses.moved(beside: other),
      let newURL = moved.sibling(part.url.lastName)
    else { return nil }
    (addresses, self.part, target) = (moved, DAVPart(url: newURL), .unasked)
    return makeDirectory()
  }

  /// Deletes the temporary name, and then sends the file to its own.
  /// - Parameter error: what the server did.
  mutating func giveUpMoving(_ error: TransferError) -> [UploadCommand] {
    guard !attempts.isSpent, let part else {
      return end(error.advising("upload it again from its beginning, to https:// without dav+"))
    }
    // A line about an attempt has no advice.
    let reason = TransferError(
      error.code, "\(error.fact); the file goes directly to its own name", status: error.status)
    return send(.clearing(reason), "DELETE", part.url)
  }

  /// - Parameter isCleared: whether the temporary name is deleted.
  mutating func sendDirectly(because error: TransferError, isCleared: Bool) -> [UploadCommand] {
    var request = request
    (request.method, request.url) = (.put, addresses.target)
    var machine = PutMachine(
      request, length: isStream ? nil : length, hasRun: attempts.mayHaveArrived,
      measures: .byProperties, isAttended: attempts.isAttended, now: attempts.now)
    if publication.publishesOnce {
      machine.publication = Publication(beginning: publication.condition)
    }
    // One upload has one number of retries.
    machine.attempts = attempts
    state = .plain(machine, isCleared: isCleared)
    return (isCleared ? [.deleteRecord] : [])
      + [.retry(after: .zero, attempt: attempts.failures, error)]
  }

  /// The server has lost the file: all of it is sent again.
  mutating func sendAgain() -> [UploadCommand] {
    part?.isWhole = false
    (mayHaveMoved, target) = (false, .unasked)
    let lost = TransferError(
      .httpStatus, "the server no longer has what was sent", isRetryable: true)
    return failed(lost)
  }

  var mayBeOwn: Bool { false }

  func conflict(_ status: Int) -> TransferError {
    .isStoredAlready(perhapsByThis: attempts.mayHaveArrived || mayHaveMoved, status: status)
  }

  // MARK: Ends

  /// The server is still at work on a MOVE. These looks are no attempts.
  mutating func wait(_ error: TransferError) -> [UploadCommand] {
    mayHaveMoved = true
    guard let next = delay.next(at: attempts.now, retryAfter: error.retryAfter) else {
      return finish(.failed(error.leavingOpen))
    }
    state = .waiting
    return [.retry(after: next, attempt: delay.looks, error)]
  }

  mutating func failed(_ error: TransferError) -> [UploadCommand] {
    if let lastError { return end(lastError) }
    switch attempts.failed(error, sendsAgain: part?.isWhole != true) {
    case .failure(let error):
      // Some servers fail at a name that they do not like.
      if case .sending = state, error.status == 500, !attempts.isSpent {
        return giveUpMoving(error)
      }
      guard mayHaveMoved else { return end(error) }
      lastError = error
      return look()
    case .success(let retry):
      state = .waiting
      return [retry]
    }
  }

  /// Deletes the temporary name, with one attempt, and fails.
  mutating func end(_ error: TransferError) -> [UploadCommand] {
    let shown = mayHaveMoved && error.code != .nameConflict ? error.leavingOpen : error
    return end(.failed(shown))
  }

  /// The same, and ends.
  mutating func end(_ end: UploadEnd) -> [UploadCommand] {
    guard let part, part.isStored else { return finish(end) }
    return send(.cleaning(end), "DELETE", part.url)
  }
}

extension TransferError {
  /// The same, of an upload that may have succeeded.
  fileprivate var leavingOpen: TransferError {
    advising("the server may have stored the file all the same: look there")
  }
}
