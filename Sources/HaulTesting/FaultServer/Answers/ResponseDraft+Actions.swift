import FoundationEssentials
import HaulCore

extension CompliantResponse.View {
  /// Applies an action that changes the resource; other actions change the draft later.
  mutating func apply(_ action: Fault.Action) {
    switch action {
    case .content(let seed, let newLength):
      content = SeededContent(seed: seed)
      length = newLength ?? length
    case .entityTag(let value): entityTag = value
    case .lastModified(let seconds): lastModified = seconds
    case .ignoreRange: ignoresRange = true
    case .ignoreIfRange: ifRangeHolds = true
    case .refuseIfRange: ifRangeHolds = false
    default: break
    }
  }
}

extension ResponseDraft {
  /// Replaces the answer. Keeps `Date`, and removes the fields about the content.
  mutating func replace(
    status: Int, reason: String? = nil, headers: [String] = [], body: String = ""
  ) {
    self.status = status
    self.reason = reason.map { Array($0.utf8) }
    fields.removeAll { $0.name != "Date" && !(status == 304 && $0.name != "Content-Type") }
    for (name, value) in headers.map(Self.split) { add(name, value) }
    claimed = nil
    contentRange = nil
    payload = .bytes(Array(body.utf8))
    if status == 204 || status == 304 { hasNoBody = true }
  }

  /// Applies an action that changes the answer. Actions that change the resource were applied
  /// before.
  mutating func apply(_ action: Fault.Action, now: Int64) {
    switch action {
    case .content, .entityTag, .lastModified, .ignoreRange, .ignoreIfRange, .refuseIfRange:
      break
    case .respond, .redirect, .retryLater, .rangeNotSatisfiable, .raw:
      applyReplacement(action, now: now)
    case .unaskedPartial, .contentRange, .shiftRange, .shortenRange, .multipart:
      applyRange(action)
    case .body(let text): payload = .bytes(Array(Data(base64Encoded: text) ?? Data()))
    case .lengthenBody, .declareLength, .contentLength, .chunked, .closeDelimited, .endless:
      applyFraming(action)
    case .setHeaders, .addHeaders, .removeHeaders, .digest, .hostileText, .headerBomb,
      .informational:
      applyHead(action)
    case .cut(let how, let after, let part):
      stops.append(Answer.Stop(how: how, part: part ?? .body, after: after))
    case .upload: break
    case .drip(let bytes, let milliseconds):
      pace = Pacer.Pace(bytes: max(1, bytes ?? 1), nanoseconds: (milliseconds ?? 1000) * 1_000_000)
    case .rate(let bytesPerSecond): pace = .rate(bytesPerSecond)
    case .closeAfterwards(let announced):
      closesAfterwards = true
      announcesClose = announced ?? false
    }
  }

  private mutating func applyReplacement(_ action: Fault.Action, now: Int64) {
    switch action {
    case .respond(let status, let reason, let headers, let body):
      replace(
        status: status, reason: reason, headers: (headers ?? []).map { expand($0) },
        body: body ?? "")
    case .redirect(let status, let location):
      replace(status: status ?? 302, headers: location.map { ["Location: \(expand($0))"] } ?? [])
    case .retryLater(let status, let seconds, let asDate):
      let value = asDate == true ? ServerDate.text(max(0, now + seconds)) : String(seconds)
      replace(status: status ?? 503, headers: ["Retry-After: \(value)"])
    case .rangeNotSatisfiable(let withTotal):
      replace(status: 416, headers: withTotal != false ? ["Content-Range: bytes */\(total)"] : [])
    case .raw(let text, let then):
      raw = (text.unicodeScalars.flatMap(Self.bytes), then ?? .close)
    default: break
    }
  }

  private static func bytes(_ scalar: Unicode.Scalar) -> [UInt8] {
    UInt8(exactly: scalar.value).map { [$0] } ?? Array(String(scalar).utf8)
  }

  private mutating func applyRange(_ action: Fault.Action) {
    switch action {
    case .unaskedPartial:
      guard case .content(let range) = payload, !range.isEmpty else { return }
      status = 206
      claimed = range
    case .contentRange(let value):
      contentRange = value
      // Also on a 200 or 416, if a script sets the field there.
      if claimed == nil, let value { set("Content-Range", expand(value)) }
    case .shiftRange(let distance, let honest):
      guard case .content(let range) = payload else { return }
      let lower = max(0, range.lowerBound + distance)
      let upper =
        honest != false ? max(lower + 1, min(range.upperBound, total)) : lower + range.length
      payload = .content(lower..<upper)
      if honest != false, claimed != nil { claimed = lower..<upper }
    case .shortenRange(let count):
      guard case .content(let range) = payload, claimed != nil else { return }
      let shorter = range.lowerBound..<min(range.upperBound, range.lowerBound + max(1, count))
      payload = .content(shorter)
      claimed = shorter
    case .multipart:
      isMultipart = claimed != nil
    default: break
    }
  }

  private mutating func applyFraming(_ action: Fault.Action) {
    switch action {
    case .lengthenBody(let count, let declared):
      extraBytes = count
      extraIsDeclared = declared ?? true
    case .declareLength(let difference): declaredDifference = difference
    case .contentLength(let values): contentLengths = values
    case .chunked(let terminal, let trailers):
      framing = .chunked(terminal: terminal ?? true, trailers: trailers ?? [])
    case .closeDelimited(let version, let closeNotify):
      framing = .closeDelimited(version: version ?? "1.0", closeNotify: closeNotify ?? true)
    case .endless(let chunked):
      payload = .endless
      framing =
        chunked != false
        ? .chunked(terminal: true, trailers: [])
        : .closeDelimited(version: "1.1", closeNotify: true)
    default: break
    }
  }
}
