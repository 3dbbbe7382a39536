/// What answers mean, in each state.
extension S3Machine {
  mutating func answered(_ answer: UploadAnswer) -> [UploadCommand] {
    let isSuccess = (200..<300).contains(answer.head.status)
    if !isSuccess, messages.follow(answer) { return again(answer) }
    switch state {
    case .asking: return asked(answer)
    case .creating where isSuccess: return created(answer)
    case .creating: return creationRefused(answer)
    case .searching(let start): return searched(answer, since: start)
    case .examining(let uploads): return examined(answer, uploads)
    case .discarding(let rest): return examine(rest)
    case .listing(let marker, let known) where isSuccess:
      return found(answer, after: marker, beside: known)
    case .listing where S3Failure(answer).isUploadGone: return confirm(.gone(.lostParts))
    // Which parts the store has stays unknown, in every other run too.
    case .listing where S3Failure(answer).isForbidden:
      return [.reportRefusal(S3Failure(answer).refusedList(request))] + abort(then: nil)
    case .sending: return sent(answer, isSuccess: isSuccess)
    case .completing: return completed(answer)
    case .measuring: return measured(answer.head)
    case .measuringParts(let object): return measuredParts(object, answer.head)
    case .confirming(let doubt): return confirmed(answer, doubt)
    case .aborting(let end): return aborted(answer, end)
    default: return refused(answer)
    }
  }

  /// Asks the same at the place that the store has named.
  private mutating func again(_ answer: UploadAnswer) -> [UploadCommand] {
    switch state {
    case .asking: return [.send(question)]
    case .measuringParts: return [.send(messages.headOfFirstPart)]
    case .measuring, .confirming: return [.send(messages.head)]
    case .creating: return create()
    case .searching, .examining, .discarding: return begin()
    case .listing(let marker, let known): return list(after: marker, beside: known)
    case .completing: return complete()
    case .aborting(let end): return abort(then: end)
    default:
      parts.close(answer.part)
      return afterPart()
    }
  }

  mutating func refused(_ answer: UploadAnswer) -> [UploadCommand] {
    failed(error(of: answer))
  }

  private mutating func creationRefused(_ answer: UploadAnswer) -> [UploadCommand] {
    if let report = messages.dropChecksums(after: answer) { return [report] + create() }
    // A gateway may have answered in place of the store.
    return answer.head.status >= 500 ? creationFailed(error(of: answer)) : refused(answer)
  }

  /// Why the store refuses. A wrong clock is set, and the request is sent again.
  mutating func error(of answer: UploadAnswer) -> TransferError {
    let failure = S3Failure(answer)
    if failure.isClockWrong { messages.setClock(by: answer) }
    return failure.error(request)
  }

  /// In bytes. It is in each request of the upload.
  private static let longestUploadID = 8 << 10

  private mutating func created(_ answer: UploadAnswer) -> [UploadCommand] {
    guard let root = answer.document else { return creationFailed(.cutOff) }
    // As to the completion, some stores say 200 before they know.
    if S3Failure(answer).code != nil { return creationRefused(answer) }
    guard root.isAnswer("InitiateMultipartUpload"), let upload = root["UploadId"],
      (1...Self.longestUploadID).contains(upload.utf8.count)
    else {
      return fail(
        .protocolViolation,
        "the server does not name the upload, or by more than \(Self.longestUploadID) bytes")
    }
    if messages.checksums != nil { messages.checksums = S3Checksums(answer.head.headers) }
    let record = UploadRecord(
      address: messages.address(ofUpload: PercentCoding.component(upload)), source: source,
      s3: UploadRecord.S3(
        partSize: parts.partSize, mark: mark, checksums: messages.checksums,
        condition: messages.condition))
    (self.record, state, begun) = (record, .storing, nil)
    return [.storeRecord(record)]
  }

  mutating func list(after marker: Int, beside known: [S3PartList.Part]) -> [UploadCommand] {
    guard let record, let upload = S3Messages.upload(of: record) else { return abort(then: nil) }
    state = .listing(after: marker, known)
    return [.send(messages.list(upload, after: marker))]
  }

  /// Gathers the pages, and compares what can be a part of the file with it. A list that does not
  /// advance is at its end: a part that it does not name is sent again.
  private mutating func found(
    _ answer: UploadAnswer, after marker: Int, beside known: [S3PartList.Part]
  ) -> [UploadCommand] {
    guard answer.isWhole, let page = S3PartList(answer.body) else {
      let unreadable = TransferError(
        .protocolViolation, "the server's list of parts is unreadable", isRetryable: true)
      return failed(unreadable)
    }
    let new = page.parts.filter { part in
      part.number > marker && part.number <= parts.count
        && part.size == parts.range(of: part.number).length
    }
    if let next = page.nextMarker, next > marker, next < parts.count {
      return list(after: next, beside: known + new)
    }
    return source.remote == nil ? compare((known + new)[...]) : takeListed(known + new)
  }

  /// Takes the listed parts of a remote source as they are: to fetch them again costs as much as to
  /// send them. The store checked the MD5 of each when it came, and all are of the version that the
  /// record names. One whose checksum the completion must name is sent again if it is not listed;
  /// without that of the whole, the object is not compared.
  private mutating func takeListed(_ listed: [S3PartList.Part]) -> [UploadCommand] {
    for part in listed where messages.checksums != .ofParts || part.crc32c != nil {
      parts.note(part.crc32c, of: part.number)
      parts.finish(part.number, tag: part.tag)
    }
    return [.reportAcknowledged(parts.acknowledged)] + fill()
  }

  /// Reads the first of the listed parts from the file. A wrong one would make a wrong object.
  private mutating func compare(_ listed: ArraySlice<S3PartList.Part>) -> [UploadCommand] {
    guard let part = listed.first else {
      return [.reportAcknowledged(parts.acknowledged)] + fill()
    }
    state = .comparing(listed)
    return [.digest(parts.range(of: part.number), part: part.number, messages.digestsOfStored)]
  }

  mutating func compared(
    _ checksums: [Checksum], _ listed: ArraySlice<S3PartList.Part>
  ) -> [UploadCommand] {
    guard let part = listed.first else { return [] }
    if let digest = S3Digest(checksums), digest.matches(part.tag) {
      messages.proof.hasTags = true
      parts.note(digest.crc32c, of: part.number)
      parts.finish(part.number, tag: part.tag)
    }
    return compare(listed.dropFirst())
  }

  private mutating func sent(_ answer: UploadAnswer, isSuccess: Bool) -> [UploadCommand] {
    guard isSuccess else { return partRefused(answer) }
    guard answer.sent >= parts.range(of: answer.part).length else {
      let early = TransferError(
        .protocolViolation, "the server answered before it had all bytes",
        status: answer.head.status)
      return partFailed(answer.part, early)
    }
    let tag = answer.head.headers["ETag"] ?? ""
    guard !tag.isEmpty else {
      let untagged = TransferError(
        .protocolViolation, "the answer has no entity tag, so it is not that of an S3 store",
        status: answer.head.status)
      return partFailed(answer.part, untagged)
    }
    var verified: [UploadCommand] = []
    if let found = answer.head.headers.single(S3Messages.checksumField),
      let checksum = parts.checksum(of: answer.part)
    {
      guard found == checksum.base64 else {
        // A wrong part is replaced; a wrong object is there.
        let wrong = TransferError.otherChecksum("CRC32C", isRetryable: !isSingle)
        return partFailed(answer.part, wrong)
      }
      if isSingle { (verified, isProvenObject) = ([.reportVerified(checksum)], true) }
    }
    let digest = messages.proof.sent[answer.part]?.digest
    let isOtherMD5 = digest?.contradicts(tag) ?? false
    // Not every store that gets an MD5 compares it. The tag of an encrypted object may be anything.
    let isRight =
      isSingle
      ? !isOtherMD5 || answer.head.headers.tellOfEncryption
      : messages.proof.proves(answer.part, by: tag)
    guard isRight else {
      let wrong = TransferError.otherChecksum("MD5", isRetryable: !isSingle)
      return partFailed(answer.part, wrong)
    }
    if digest?.matches(tag) ?? false { isProvenObject = true }
    parts.finish(answer.part, tag: tag, isDoubtful: isOtherMD5)
    if messages.proof.hasTags, !parts.doubtful.isEmpty {
      guard !parts.isStream else {
        return abort(then: .failed(.otherChecksum("MD5", isRetryable: false)))
      }
      parts.loseDoubtful()
      messages.proof.demandMD5()
    }
    return [.reportAcknowledged(parts.acknowledged)] + verified + afterPart()
  }

  private mutating func partRefused(_ answer: UploadAnswer) -> [UploadCommand] {
    if isSingle, let doubt = doubt(after: S3Failure(answer)) {
      parts.close(answer.part)
      return confirm(doubt)
    }
    if isSingle, let report = messages.dropChecksums(after: answer) {
      parts.close(answer.part)
      return [report] + fill()
    }
    if isSingle, let commands = conditionRefused(answer) {
      parts.close(answer.part)
      return commands
    }
    if messages.proof.sent[answer.part]?.isChecked == false, S3Failure(answer).mayMissMD5 {
      messages.proof.demandMD5()
      parts.close(answer.part)
      return afterPart()
    }
    return partFailed(
      answer.part, error(of: answer), isGone: S3Failure(answer).isUploadGone)
  }

  /// The answer to the completion: a success may still have an error in its body.
  private mutating func completed(_ answer: UploadAnswer) -> [UploadCommand] {
    let root = answer.document
    if answer.head.status == 200, let root, root.isAnswer("CompleteMultipartUpload") {
      return made(root)
    }
    let failure = S3Failure(answer)
    if failure.isUploadGone { return confirm(.gone(.lostParts)) }
    if failure.isDigestWrong {
      return abort(then: .failed(.otherChecksum("CRC32C", isRetryable: false)))
    }
    if let checksums = messages.checksums, failure.mayRefuseChecksums {
      messages.checksums = checksums == .ofWhole ? .ofParts : nil
      return [.reportRefusal(failure.refusedChecksums)] + complete()
    }
    if let doubt = doubt(after: failure) { return confirm(doubt) }
    if let commands = conditionRefused(answer) { return commands }
    if failure.arePartsGone {
      (parts.areKnown, state) = (false, .waiting)
      let lost = TransferError(
        .httpStatus, "the server lacks parts that it had", status: answer.head.status,
        isRetryable: true)
      guard !parts.isStream else { return abort(then: .failed(attempts.spent(lost))) }
      return failed(lost)
    }
    if failure.isConflict { return replaceUpload(failure.error(request)) }
    guard answer.head.status == 200, failure.code == nil else {
      return refused(answer)
    }
    return failed(.cutOff)
  }

  /// The object is made. The store says what its checksum is, or that it is made of these parts. If
  /// it says neither, it is asked for the length; for that, some stores read the whole object.
  private mutating func made(_ object: XMLElement) -> [UploadCommand] {
    guard object["ChecksumType"] == S3Messages.wholeObject,
      let found = object["ChecksumCRC32C"], let checksum = parts.checksum
    else {
      if let tag = object["ETag"], parts.make(tag) { return [.deleteRecord] + finish(.completed) }
      return measure()
    }
    guard found == checksum.base64 else {
      return [.deleteRecord] + end(.otherChecksum("CRC32C", isRetryable: false))
    }
    return [.deleteRecord, .reportVerified(checksum)] + finish(.completed)
  }

  mutating func measure() -> [UploadCommand] {
    var message = messages.head
    (message.isOptional, state) = (true, .measuring)
    return [.send(message)]
  }

  /// The key need not be allowed to look, and another upload may have replaced the object.
  private mutating func measured(_ head: ResponseHead) -> [UploadCommand] {
    // A store that does not keep the mark cannot say that the object is another's.
    guard head.status != 404 else {
      return [.deleteRecord]
        + fail(.protocolViolation, "the server took the object, and has none there")
    }
    let isOther = head.headers[S3Messages.markField].map { $0 != mark } ?? false
    if isOther, isSingle, messages.condition != nil { return replaced(head) }
    guard (200..<300).contains(head.status), isSingle || !isOther,
      case .bytes(let length) = ContentLength(head.headers), length != parts.length
    else { return taken() }
    return [.deleteRecord]
      + fail(
        .checksumMismatch, "the server made an object of \(length) bytes, not \(parts.length)")
  }

  private mutating func aborted(_ answer: UploadAnswer, _ end: UploadEnd?) -> [UploadCommand] {
    let isGone = (200..<300).contains(answer.head.status) || answer.head.status == 404
    guard isGone else {
      // It stays on the store, and its record here: a later run deletes it.
      if let end { return finish(end) }
      guard S3Failure(answer).isForbidden else { return refused(answer) }
      // It stays there in any case. The record of the new upload replaces this one.
      record = nil
      return begin()
    }
    record = nil
    return [.deleteRecord] + (end.map { finish($0) } ?? begin())
  }
}

extension HeaderFields {
  /// Whether the store says that it encrypts the object.
  fileprivate var tellOfEncryption: Bool {
    fields.contains { field in
      let name = field.name.lowercased()
      return name.hasBytePrefix("x-amz-server-side-encryption")
        || name.hasBytePrefix("x-goog-encryption")
    }
  }
}

extension UploadAnswer {
  /// The document that a store answers with; nil if it is cut off, or none.
  var document: XMLElement? { isWhole ? XMLElement(document: body) : nil }
}

extension TransferError {
  fileprivate static let cutOff = TransferError(
    .connectionLost, "the server's answer is cut off, or not that of an S3 store", status: 200,
    isRetryable: true)

  fileprivate static func otherChecksum(_ name: String, isRetryable: Bool) -> TransferError {
    TransferError(
      .checksumMismatch, "the server has other bytes than the file: their \(name) differs",
      isRetryable: isRetryable)
  }
}
