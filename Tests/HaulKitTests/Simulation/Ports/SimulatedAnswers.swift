import HaulCore
import HaulTesting
import NIOConcurrencyHelpers

/// How servers answer.
extension SimulatedTransport {
  enum Fault: CaseIterable {
    case refused, unavailable, pausing, silent, lost, short, stalled
  }

  func answer(
    _ request: FetchRequest, on connection: SimulatedConnection
  ) async throws -> FetchResponse {
    try checkAlive()
    guard let resource = servers[request.url.name] else {
      throw TransferError(.internal, "there is no such resource in this world")
    }
    let fault = try await takeFault(connection)
    switch fault {
    case .unavailable: return refusal(503, to: request, on: connection)
    case .pausing: return pause(1 + random.below(3), to: request, on: connection)
    default: break
    }
    if resource.isUnavailable { return refusal(503, to: request, on: connection) }
    if resource.isMissing { return refusal(404, to: request, on: connection) }
    if let seconds = resource.pause {
      if seconds > 0 { servers[request.url.name]?.pause = nil }
      return pause(seconds, to: request, on: connection)
    }
    if resource.preparation > .zero { try await clock.wait(resource.preparation) }
    return whole(resource, request, connection, fault)
  }

  /// The fault of this request; throws if it gets no answer at all.
  func takeFault(_ connection: SimulatedConnection) async throws -> Fault? {
    let fault = randomFault(connection)
    let isAway = servers.behaviours.unreachableHost == connection.host
    guard !isAway, fault != .refused, fault != .silent else {
      // A wait without an answer ends with an error.
      defer { ledger.withLockedValue { $0.silentSince[connection.host] = clock.now } }
      if fault == .silent, !isAway { try await clock.wait(.seconds(600)) }
      throw TransferError(.connect, "refused", isRetryable: true)
    }
    return fault
  }

  private func randomFault(_ connection: SimulatedConnection) -> Fault? {
    guard let often = servers.behaviours.faultOneIn, random.oneIn(often) else { return nil }
    let fault = Fault.allCases[random.below(Fault.allCases.count)]
    ledger.withLockedValue { ledger in
      ledger.note("fault \(connection.number): \(fault)")
      _ = ledger.hostsThatRefused.insert(connection.host)
    }
    return fault
  }

  private func pause(
    _ seconds: Int, to request: FetchRequest, on connection: SimulatedConnection
  ) -> FetchResponse {
    notePause(seconds, of: connection)
    return refusal(503, [("Retry-After", "\(seconds)")], to: request, on: connection)
  }

  func notePause(_ seconds: Int, of connection: SimulatedConnection) {
    ledger.withLockedValue { ledger in
      let until = clock.now + .seconds(seconds)
      ledger.pauses[connection.host] = max(ledger.pauses[connection.host] ?? until, until)
    }
  }

  private func refusal(
    _ status: Int, _ fields: [(String, String)] = [], to request: FetchRequest,
    on connection: SimulatedConnection
  ) -> FetchResponse {
    FetchResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: request.url),
      body: SimulatedBody(
        connection: connection, content: SeededContent(seed: 0), range: 0..<0, cut: nil))
  }

  private func whole(
    _ resource: Resource, _ request: FetchRequest, _ connection: SimulatedConnection,
    _ fault: Fault?
  ) -> FetchResponse {
    var fields = [
      ("ETag", "\"1\""), ("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT"),
      ("Date", "Sat, 21 Nov 2026 00:00:00 GMT"),
    ]
    var (status, range): (Int, ByteRange) = (200, 0..<resource.length)
    if let first = request.firstByte, resource.knowsRanges, first < resource.length {
      let last = min(request.lastByte ?? .max, resource.length - 1)
      (status, range) = (206, first..<(last + 1))
      fields.append(("Content-Range", "bytes \(first)-\(last)/\(resource.length)"))
    }
    fields.append(("Content-Length", "\(range.length)"))
    let cut = fault.flatMap { fault -> SimulatedBody.Cut? in
      let offset = Int64(random.below(Int(range.length) + 1)) + range.lowerBound
      return switch fault {
      case .lost: .lost(at: offset)
      case .short: .short(at: offset)
      case .stalled: .stalled(at: offset)
      default: nil
      }
    }
    return FetchResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: request.url),
      body: SimulatedBody(
        connection: connection, content: resource.content, range: range, cut: cut))
  }
}

/// A body that arrives in pieces, with pauses.
struct SimulatedBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  /// Where and how it ends early.
  enum Cut: Sendable {
    case lost(at: Int64)
    case short(at: Int64)
    case stalled(at: Int64)

    var offset: Int64 {
      switch self {
      case .lost(let offset), .short(let offset), .stalled(let offset): offset
      }
    }
  }

  let connection: SimulatedConnection
  let content: SeededContent
  let range: ByteRange
  let cut: Cut?

  func makeAsyncIterator() -> Iterator { Iterator(body: self, position: range.lowerBound) }

  struct Iterator: AsyncIteratorProtocol {
    let body: SimulatedBody
    var position: Int64

    mutating func next() async throws -> (any ByteChunk)? {
      let transport = body.connection.transport
      try await transport.wait(upTo: 150)
      try transport.checkAlive()
      let end = Swift.min(body.cut?.offset ?? .max, body.range.upperBound)
      if position >= end {
        switch body.cut {
        case .lost: throw TransferError(.connectionLost, "reset", isRetryable: true)
        case .stalled: try await transport.clock.wait(.seconds(600))
        case .short, nil: break
        }
        body.connection.close()
        return nil
      }
      let count = Swift.min(Int64(1 + transport.random.below(8 << 10)), end - position)
      defer { position += count }
      // That was everything, so its connection is free for another request.
      if position + count == body.range.upperBound { body.connection.close() }
      return body.content.bytes(at: position, count: Int(count))
    }
  }
}

/// A seeded generator that several parts of one world share.
final class SeededRandom: Sendable {
  private let random: NIOLockedValueBox<SimulationRandom>

  init(seed: UInt64) { random = NIOLockedValueBox(SimulationRandom(seed: seed)) }

  func below(_ count: Int) -> Int { random.withLockedValue { $0.below(count) } }
  func oneIn(_ count: Int) -> Bool { random.withLockedValue { $0.oneIn(count) } }
  func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
