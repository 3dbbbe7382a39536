/// What answers mean, in each state.
extension TusMachine {
  mutating func answered(_ answer: UploadAnswer) -> [UploadCommand] {
    let (head, judge) = (answer.head, UploadJudge(answer, of: request))
    let isSuccess = (200..<300).contains(head.status)
    switch state {
    case .discovering(let since) where isSuccess:
      return discovered(TusOffer(head.headers, after: attempts.now - since))
    // A proxy may have answered, and a server without OPTIONS may still speak the protocol.
    case .discovering where head.status != 429 && head.status != 503: return undiscovered()
    case .creating where (300..<400).contains(head.status),
      .joining where (300..<400).contains(head.status):
      return redirected(head, judge)
    // Some servers, and proxies before them, change 201. The location is what counts.
    case .creating where head.status == 201 || isSuccess && head.headers["Location"] != nil:
      return created(head)
    case .asking where isSuccess: return found(head)
    case .asking where [403, 404, 410].contains(head.status):
      return startOver(gone(head, judge))
    case .sending: return sent(answer, judge)
    case .joining where isSuccess: return joined(head)
    case .joining where head.status == 404 || head.status == 410:
      return startOver(gone(head, judge))
    case .confirming where isSuccess: return confirmed(head, judge)
    default: return refused(refusal(head, judge))
    }
  }

  private func gone(_ head: ResponseHead, _ judge: UploadJudge) -> TransferError {
    head.status == 403
      ? judge.failure(of: head, to: request)
      : judge.error(.notFound, head, "it no longer has the parts of the file")
  }

  private func refusal(_ head: ResponseHead, _ judge: UploadJudge) -> TransferError {
    if head.status == 412 {
      return judge.error(.httpStatus, head, "it does not speak version 1.0.0 of tus")
    }
    let error = judge.failure(of: head, to: request)
    let isOther = !error.isRetryable && [.httpStatus, .notFound].contains(error.code)
    guard case .creating = state, offer?.isKnown == false, isOther else { return error }
    return judge.error(error.code, head, "does it speak tus 1.0.0 there? check the address")
  }

  /// The server has not said what it offers. What the address says counts, and the next answer
  /// shows more.
  mutating func undiscovered() -> [UploadCommand] {
    offer = TusOffer()
    guard record == nil else { return proceed() }
    return extent.isWhole ? begin() : end(Self.lengthNeeded)
  }

  /// Uploads are created at another address of the same origin (RFC 9110, sections 15.4.8, 15.4.9).
  private mutating func redirected(_ head: ResponseHead, _ judge: UploadJudge) -> [UploadCommand] {
    var asked = request
    asked.url = messages.creator
    switch judge.redirect(head, of: asked) {
    case .redirected(let target) where redirects < Self.maximumRedirects:
      (redirects, messages.creator) = (redirects + 1, target)
      if case .joining = state { return join() }
      return create()
    case .failure(let error): return refused(error)
    default: return fail(.tooManyRedirects, "more than \(Self.maximumRedirects) redirects")
    }
  }

  private static let maximumRedirects = 5

  private mutating func refused(_ error: TransferError) -> [UploadCommand] {
    switch state {
    case .creating where isPartRefused(error): return partRefused()
    case .joining: return unjoined(error)
    // It has said that it joined the parts, and need not keep the file there.
    case .confirming where !error.isRetryable: return complete()
    default: return failed(error)
    }
  }

  private mutating func discovered(_ offer: TusOffer) -> [UploadCommand] {
    guard offer.isKnown else { return undiscovered() }
    self.offer = offer
    guard record == nil else { return proceed() }
    guard offer.speaksTus else {
      return fail(
        .httpStatus, "the server does not speak tus 1.0.0 there", advice: "check the address")
    }
    guard offer.creates else {
      return fail(.httpStatus, "the server's tus cannot create uploads there")
    }
    guard extent.isWhole || offer.defersLength else { return end(Self.lengthNeeded) }
    if let most = offer.maximumSize, extent.end > most {
      return fail(.tooLarge, "the server takes at most \(most) bytes")
    }
    return begin()
  }

  private static let lengthNeeded = TransferError(
    .httpStatus, "the server's tus needs the length beforehand",
    advice: "save the source to a file and upload that")

  private mutating func created(_ head: ResponseHead) -> [UploadCommand] {
    do throws(TransferError) {
      let missing = "the server does not say where to upload to"
      return created(at: try request.target(in: head, orElse: missing))
    } catch {
      return finish(.failed(error))
    }
  }

  /// The offset that the server reports is the truth, if it is possible.
  private mutating func found(_ head: ResponseHead) -> [UploadCommand] {
    let (number, part) = (asked, parts[asked])
    let most = min(part.range.upperBound, part.mostSent) - part.range.lowerBound
    guard let count = head.uploadOffset else { return finish(.failed(.unknownOffset)) }
    guard count <= most else { return end(.unsentOffset) }
    if let length = head.headers.single("Upload-Length") {
      guard Int64(length) == (parts.areSeveral ? part.range.length : extent.length) else {
        return fail(.protocolViolation, "the server's upload has the length \(length)")
      }
      isLengthSent = true
    }
    let position = part.range.lowerBound + count
    guard position >= extent.start else {
      return fail(.protocolViolation, "the server has lost bytes that cannot be read again")
    }
    parts.acknowledge(number, to: position)
    return ask()
  }

  private mutating func sent(_ answer: UploadAnswer, _ judge: UploadJudge) -> [UploadCommand] {
    let (head, length) = (answer.head, parts[answer.part].chunk?.length ?? 0)
    var (error, isGone) = (refusal(head, judge), false)
    switch head.status {
    case 200..<300: return appended(answer)
    // Some firewalls block PATCH (tus 1.0.0, X-HTTP-Method-Override).
    case 405, 501:
      if messages.overridePatch(of: answer.part) {
        parts.close(answer.part, sent: answer.sent)
        return afterPart()
      }
      error = judge.error(.httpStatus, head, Self.patchBlocked)
    // A server that does not know the field has nothing to post to there.
    case 404 where messages.overridesPatch && !messages.isOverrideTaken:
      error = judge.error(.httpStatus, head, Self.patchBlocked)
    // IIS says 404 to a body that is longer than its limit. HEAD shows if the upload is there.
    case 404:
      step.suspect(length)
      isGone = true
    case 410: isGone = true
    // Perhaps a proxy takes no such long body.
    case 413:
      if step.refuse(length) {
        parts.close(answer.part, sent: answer.sent)
        return afterPart()
      }
    // The server has another offset, or the connection before still writes.
    case 409:
      error = judge.error(
        .httpStatus, head, "it has another part of the file", isRetryable: true)
    case 460:
      error = judge.error(
        .checksumMismatch, head, "the bytes that it received have another checksum",
        isRetryable: true)
    default: break
    }
    return partFailed(answer.part, error, sent: answer.sent, isGone: isGone)
  }

  private static let patchBlocked =
    "PATCH is blocked there, and POST in its place too; a firewall or a proxy must allow PATCH"

  private mutating func appended(_ answer: UploadAnswer) -> [UploadCommand] {
    let part = parts[answer.part]
    let before = part.offset - part.range.lowerBound
    guard let count = answer.head.uploadOffset, (before...(before + answer.sent)).contains(count)
    else {
      let wrong = answer.head.uploadOffset == nil ? TransferError.unknownOffset : .otherOffset
      return partFailed(answer.part, wrong, sent: answer.sent)
    }
    isLengthSent = isLengthSent || extent.isWhole
    messages.isOverrideTaken = messages.overridesPatch
    guard count > before else {
      return partFailed(answer.part, .tookNothing, sent: answer.sent)
    }
    parts.close(answer.part, sent: answer.sent)
    parts.acknowledge(answer.part, to: part.range.lowerBound + count)
    return [.reportAcknowledged(parts.acknowledged)] + afterPart()
  }

  private mutating func joined(_ head: ResponseHead) -> [UploadCommand] {
    do throws(TransferError) {
      let missing = "the server does not say where the file is that it joined"
      return joined(at: try request.target(in: head, orElse: missing))
    } catch {
      return finish(.failed(error))
    }
  }

  private mutating func confirmed(_ head: ResponseHead, _ judge: UploadJudge) -> [UploadCommand] {
    if let length = head.headers.single("Upload-Length"), Int64(length) != source.size {
      return [.deleteRecord]
        + fail(.protocolViolation, "the server has joined the parts to \(length) bytes")
    }
    guard head.uploadOffset == source.size else {
      let early = judge.error(
        .httpStatus, head, "it has not yet joined the parts", isRetryable: true)
      return failed(early)
    }
    return complete()
  }
}
