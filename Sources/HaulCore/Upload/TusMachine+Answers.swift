/// What answers mean, in each state.
extension TusMachine {
  mutating func answered(
    _ answer: UploadAnswer, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let (head, judge) = (answer.head, UploadJudge(wallSeconds: answer.wallSeconds))
    let isSuccess = (200..<300).contains(head.status)
    switch state {
    case .discovering where isSuccess: return discovered(head, at: now)
    // A server without OPTIONS may still speak the protocol.
    case .discovering where [404, 405, 501].contains(head.status) && record == nil:
      offer = TusOffer()
      return extent.isWhole ? begin() : fail(.httpStatus, Self.lengthNeeded)
    case .creating where head.status == 201: return created(head)
    case .asking where isSuccess: return found(head)
    case .asking where [403, 404, 410].contains(head.status):
      return startOver(gone(head, judge), at: now, using: &rng)
    case .sending: return sent(answer, judge, at: now, using: &rng)
    case .joining where isSuccess: return joined(head)
    case .joining where head.status == 404 || head.status == 410:
      return startOver(gone(head, judge), at: now, using: &rng)
    case .confirming where isSuccess: return confirmed(head, judge, at: now, using: &rng)
    default: return refused(refusal(head, judge), at: now, using: &rng)
    }
  }

  private func gone(_ head: ResponseHead, _ judge: UploadJudge) -> TransferError {
    head.status == 403
      ? judge.failure(of: head, to: request)
      : judge.error(.notFound, head, "it no longer has the parts of the file")
  }

  private func refusal(_ head: ResponseHead, _ judge: UploadJudge) -> TransferError {
    head.status == 412
      ? judge.error(.httpStatus, head, "it does not speak version 1.0.0 of tus")
      : judge.failure(of: head, to: request)
  }

  private mutating func refused(
    _ error: TransferError, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    switch state {
    // It has the upload, whatever it says of itself.
    case .discovering where record != nil && !error.isRetryable:
      offer = TusOffer()
      return proceed()
    case .creating where isPartRefused(error): return partRefused()
    case .joining: return unjoined(error, at: now, using: &rng)
    // It has said that it joined the parts, and need not keep the file there.
    case .confirming where !error.isRetryable: return complete()
    default: return failed(error, at: now, using: &rng)
    }
  }

  private mutating func discovered(_ head: ResponseHead, at now: Instant) -> [UploadCommand] {
    let offer = TusOffer(head.headers)
    note(offer, at: now)
    guard record == nil else { return proceed() }
    guard offer.speaksTus else {
      return fail(.httpStatus, "the server does not speak tus 1.0.0 there; check the address")
    }
    guard offer.creates else {
      return fail(.httpStatus, "the server's tus cannot create uploads there")
    }
    guard extent.isWhole || offer.defersLength else { return fail(.httpStatus, Self.lengthNeeded) }
    if let most = offer.maximumSize, extent.end > most {
      return fail(.tooLarge, "the server takes at most \(most) bytes")
    }
    return begin()
  }

  private static let lengthNeeded =
    "the server's tus needs the length beforehand; save the source to a file and upload that"

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
    guard count <= most else {
      return fail(.protocolViolation, "the server reports bytes of the file that it was not sent")
    }
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

  private mutating func sent(
    _ answer: UploadAnswer, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let head = answer.head
    var (error, isGone) = (refusal(head, judge), false)
    switch head.status {
    case 200..<300: return appended(answer, at: now, using: &rng)
    case 404, 410: isGone = true
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
    return partFailed(
      answer.part, error, sent: answer.sent, isGone: isGone, at: now, using: &rng)
  }

  private mutating func appended(
    _ answer: UploadAnswer, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    let part = parts[answer.part]
    let before = part.offset - part.range.lowerBound
    guard let count = answer.head.uploadOffset, (before...(before + answer.sent)).contains(count)
    else {
      let wrong =
        answer.head.uploadOffset == nil
        ? TransferError.unknownOffset
        : TransferError(.protocolViolation, "the server reports another number of bytes than sent")
      return partFailed(answer.part, wrong, sent: answer.sent, at: now, using: &rng)
    }
    isLengthSent = isLengthSent || extent.isWhole
    guard count > before else {
      let none = TransferError(.httpStatus, "the server took no byte", isRetryable: true)
      return partFailed(answer.part, none, sent: answer.sent, at: now, using: &rng)
    }
    parts.close(answer.part, sent: answer.sent)
    parts.acknowledge(answer.part, to: part.range.lowerBound + count)
    return [.reportAcknowledged(parts.acknowledged)] + afterPart(at: now, using: &rng)
  }

  private mutating func joined(_ head: ResponseHead) -> [UploadCommand] {
    do throws(TransferError) {
      let missing = "the server does not say where the file is that it joined"
      return joined(at: try request.target(in: head, orElse: missing))
    } catch {
      return finish(.failed(error))
    }
  }

  private mutating func confirmed(
    _ head: ResponseHead, _ judge: UploadJudge, at now: Instant,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    if let length = head.headers.single("Upload-Length"), Int64(length) != source.size {
      return [.deleteRecord]
        + fail(.protocolViolation, "the server has joined the parts to \(length) bytes")
    }
    guard head.uploadOffset == source.size else {
      let early = judge.error(
        .httpStatus, head, "it has not yet joined the parts", isRetryable: true)
      return failed(early, at: now, using: &rng)
    }
    return complete()
  }
}
