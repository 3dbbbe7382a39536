import HaulCore

/// A simple server: a file with a version, a behaviour, and faults that become rarer.
struct ModelServer {
  enum Behaviour: CaseIterable {
    case honest, ignoresRanges, chunked, ignoresIfRange, capsRanges, withoutValidators, mislabels
    case refusesRanges, refusesAdditional, hasNewTags, hasOtherTotals
  }

  let behaviour: Behaviour
  /// The version that it serves now, and for how long.
  private(set) var version = 1
  private(set) var length: Int64
  private var changesLeft: Int
  private var faults: Int
  private var answers = 0

  /// - Parameter isCalm: a server of long files with few faults.
  init(isCalm: Bool, using random: inout SplitMix64) {
    guard !isCalm else {
      (behaviour, changesLeft) = (.honest, 0)
      length = .random(in: 1000...4000, using: &random)
      faults = .random(in: 0...3, using: &random)
      return
    }
    behaviour = Behaviour.allCases.randomElement(using: &random) ?? .honest
    length = .random(in: 0...400, using: &random)
    changesLeft = .random(in: 0..<10, using: &random) == 0 ? 2 : .random(in: 0...1, using: &random)
    faults = .random(in: 0...30, using: &random)
  }

  /// Whether the next action fails.
  mutating func fails(using random: inout SplitMix64) -> Bool {
    guard faults > 0, Int.random(in: 0..<4, using: &random) == 0 else { return false }
    faults -= 1
    return true
  }

  mutating func maybeChange(using random: inout SplitMix64) {
    guard changesLeft > 0, Int.random(in: 0..<60, using: &random) == 0 else { return }
    changesLeft -= 1
    version += 1
    if Bool.random(using: &random) { length = .random(in: 0...400, using: &random) }
  }

  /// The head of its answer, and the bytes of the body.
  mutating func answer(
    _ request: FetchRequest, using random: inout SplitMix64
  ) -> (head: ResponseHead, body: ByteRange) {
    if fails(using: &random) {
      let status = [403, 429, 500, 503].randomElement(using: &random) ?? 500
      return (ResponseHead(status: status, headers: HeaderFields(), url: request.url), 0..<0)
    }
    answers += 1
    if behaviour == .refusesRanges && request.firstByte != nil
      || behaviour == .refusesAdditional && request.isAdditional
    {
      let status = [400, 403, 404, 409, 501, 520].randomElement(using: &random) ?? 400
      return (ResponseHead(status: status, headers: HeaderFields(), url: request.url), 0..<0)
    }
    let tag = behaviour == .hasNewTags ? "\"v\(version)-\(answers)\"" : "\"v\(version)\""
    var fields = behaviour == .withoutValidators ? [] : [("ETag", tag)]
    guard let first = request.firstByte, behaviour != .ignoresRanges, behaviour != .chunked,
      isUsed(request)
    else {
      fields.append(
        behaviour == .chunked ? ("Transfer-Encoding", "chunked") : ("Content-Length", "\(length)"))
      return (
        ResponseHead(status: 200, headers: HeaderFields(fields), url: request.url), 0..<length
      )
    }
    guard first < length else {
      fields.append(("Content-Range", "bytes */\(length)"))
      return (ResponseHead(status: 416, headers: HeaderFields(fields), url: request.url), 0..<0)
    }
    var last = min(request.lastByte ?? .max, length - 1)
    if behaviour == .capsRanges { last = min(last, first + 49) }
    let isWrong = behaviour == .mislabels && fails(using: &random)
    let total = behaviour == .hasOtherTotals && first > 0 ? length + 1 : length
    fields.append(("Content-Range", "bytes \(isWrong ? first + 1 : first)-\(last)/\(total)"))
    return (
      ResponseHead(status: 206, headers: HeaderFields(fields), url: request.url), first..<(last + 1)
    )
  }

  private func isUsed(_ request: FetchRequest) -> Bool {
    guard let condition = request.ifRange else { return true }
    if behaviour == .hasNewTags { return false }
    return behaviour != .ignoresIfRange && condition == "\"v\(version)\""
  }
}
