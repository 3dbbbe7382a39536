import HaulCore
import Testing

/// A machine with its plan. It takes events, and returns its commands as words, one each.
struct MachineScript {
  var machine: DownloadMachine
  var plan: SegmentPlan
  var surroundings = DownloadMachine.Surroundings()
  var now = Instant()

  static let address = "http://a.example/f"

  init(
    received: [ByteRange] = [], length: Int64? = nil,
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws {
    var rules = DownloadMachine.Rules(
      DownloadRequest(url: try ResourceURL(Self.address), to: .directory(".")))
    rules.request.minimumSplit = 10
    change(&rules)
    var random = SplitMix64(seed: 1)
    machine = DownloadMachine(rules: rules, now: now, using: &random)
    plan = SegmentPlan(length: length, received: ByteRangeSet(received))
  }

  mutating func send(_ event: DownloadMachine.Event) -> [String] {
    machine.handle(event, in: surroundings, plan: &plan, at: now).map(Self.text)
  }

  mutating func start(_ found: DownloadMachine.Found = .init()) -> [String] { send(.start(found)) }

  mutating func resume(
    tag: String?, date: String? = nil, length: Int64?, elsewhere: Bool = false,
    comparisonRanges: [ByteRange] = [], announced: Checksum? = nil, mayMixVersions: Bool = false,
    location: ResourceURL? = nil, fileName: String? = nil
  ) -> [String] {
    let validator = Validator(
      entityTag: tag, lastModified: date, lastModifiedIsStrong: date != nil)
    return send(
      .start(
        .init(
          .init(
            version: .init(validator: validator, length: length, announced: announced),
            isSameAddress: !elsewhere, mayMixVersions: mayMixVersions,
            comparisonRanges: comparisonRanges,
            location: location),
          fileName: fileName)))
  }

  /// An answer to the fetch, with these fields as `Name: value`.
  mutating func answer(
    _ id: Int, _ status: Int, _ fields: [String] = [], from url: String? = nil,
    isFromOtherAddress: Bool = false
  ) throws -> [String] {
    let pairs = fields.map { field in
      let parts = field.split(separator: ":", maxSplits: 1).map { String($0) }
      return (parts[0], String(parts[1].drop { $0 == " " }))
    }
    let head = ResponseHead(
      status: status, headers: HeaderFields(pairs), url: try ResourceURL(url ?? Self.address),
      wasRedirected: url != nil)
    return send(
      .responded(
        SegmentID(number: id), head, isFromOtherAddress: isFromOtherAddress, wallSeconds: 0))
  }

  mutating func range(
    _ id: Int, _ first: Int, _ last: Int, of total: Int = 100, tag: String? = "\"v1\"",
    date: String? = nil, from url: String? = nil
  ) throws -> [String] {
    var fields = [
      "Content-Range: bytes \(first)-\(last)/\(total)", "Content-Length: \(last - first + 1)",
    ]
    if let tag { fields.append("ETag: \(tag)") }
    if let date { fields.append("Last-Modified: \(date)") }
    return try answer(id, 206, fields, from: url)
  }

  mutating func whole(_ id: Int, length: Int? = 100, tag: String? = "\"v1\"") throws -> [String] {
    try answer(
      id, 200,
      (length.map { ["Content-Length: \($0)"] } ?? ["Transfer-Encoding: chunked"])
        + (tag.map { ["ETag: \($0)"] } ?? []))
  }

  /// Writes that many bytes of the segment; true if they were its last.
  @discardableResult
  mutating func write(_ id: Int, _ count: Int) -> Bool {
    let grant = plan.reserve(SegmentID(number: id), count: count)
    plan.noteWritten(SegmentID(number: id))
    return grant.isLast
  }

  /// Writes its first bytes.
  mutating func deliver(_ id: Int, _ count: Int = 1) -> [String] {
    write(id, count)
    return send(.delivered(SegmentID(number: id)))
  }

  mutating func end(_ id: Int) -> [String] { send(.ended(SegmentID(number: id))) }
  mutating func stopped(_ id: Int) -> [String] { send(.stopped(SegmentID(number: id))) }
  mutating func lose(_ id: Int) -> [String] {
    send(.failed(SegmentID(number: id), TransferError(.connectionLost, "lost", isRetryable: true)))
  }

  /// Started, answered with `0-99/100`, with its first byte written. It has one connection and has
  /// requested another.
  /// - Parameter last: the last byte of the first answer.
  static func running(
    upTo last: Int = 99, _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    var script = try MachineScript(change)
    _ = script.start()
    _ = try script.range(1, 0, last)
    _ = script.deliver(1)
    return script
  }

  /// Like `running`, with a second connection whose request for `50-` or so has no answer.
  static func withTwo(
    upTo last: Int = 99, _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    var script = try running(upTo: last, change)
    _ = script.send(.connectionGranted)
    return script
  }
}

extension MachineScript {
  /// Sends the event; the error that the download fails with, if it does.
  mutating func failure(
    _ id: Int, _ status: Int, from url: String? = nil
  ) throws -> TransferError? {
    let head = ResponseHead(
      status: status, url: try ResourceURL(url ?? Self.address), wasRedirected: url != nil)
    let event = DownloadMachine.Event.responded(
      SegmentID(number: id), head, isFromOtherAddress: false, wallSeconds: 0)
    let commands = machine.handle(event, in: surroundings, plan: &plan, at: now)
    guard case .finish(.failed(let error))? = commands.last else { return nil }
    return error
  }

  static func text(_ command: DownloadMachine.Command) -> String {
    switch command {
    case .open(let id, let fetch): "open \(id.number) \(text(fetch))"
    case .receive(let id, let body, let version):
      "receive \(id.number) \(body.start)\(version == nil ? "" : " new")"
    case .compare(let id, let range):
      "compare \(id.number) \(range.lowerBound)-\(range.upperBound - 1)"
    case .drop(let id): "drop \(id.number)"
    case .bind(let id): "bind \(id.number)"
    case .stop(let id): "stop \(id.number)"
    case .noteMixedVersions: "unproved"
    case .begin: "begin"
    case .requestConnection: "request"
    case .releaseConnection: "release"
    case .wake(let timer, let delay):
      timer == .retry ? "wake retry" : "wake \(timer) \(delay.components.seconds)"
    case .releaseSlot: "leave"
    case .requestSlot: "enter"
    case .limitHost: "limit"
    case .refusedAdditional: "refused"
    case .pauseHost(let delay): "pause host \(delay.components.seconds)"
    case .hostFailed(let delay): delay == nil ? "host given up" : "host failed"
    case .verify: "verify"
    case .publish(let version): "publish \(version.length ?? -1)"
    case .phase(let phase, _): "\(phase)"
    case .attempt(let number, _, _): "attempt \(number)"
    case .connectionsChosen(let choice): "settled \(choice.connections) \(choice.reason.rawValue)"
    case .resume: "resume"
    case .finish(.failed(let error)): "failed \(error.code.rawValue)"
    case .finish(.completed(let verification)): "completed \(verification)"
    case .finish(.paused): "paused"
    case .finish(.alreadyExists): "already there"
    }
  }

  private static func text(_ fetch: FetchRequest) -> String {
    var text = "whole"
    if let first = fetch.firstByte {
      text = "\(first)-\(fetch.lastByte.map { "\($0)" } ?? "")"
    }
    if fetch.ifRange != nil { text += " if" }
    if fetch.url.absoluteString != address {
      let query = fetch.url.absoluteString.drop { $0 != "?" }
      text += " at \(fetch.url.origin.host)\(query)"
    }
    if fetch.headers["Cookie"] != nil { text += " with cookie" }
    return text
  }
}
