import HaulControl
import HaulCore
import HaulKit
import HTTPTypes
import Hummingbird
import NIOConcurrencyHelpers
import ServiceLifecycle

/// How many calls of a kind are being answered.
final class PlaceCount: Sendable {
  private let count = NIOLockedValueBox(0)

  var value: Int { count.withLockedValue { $0 } }
  func change(by difference: Int) { count.withLockedValue { $0 += difference } }

  /// Whether there was a place for one more, which has it now.
  func enter(atMost most: Int) -> Bool {
    count.withLockedValue { count in
      guard count < most else { return false }
      count += 1
      return true
    }
  }
}

/// `GET /api/v1/events`: server-sent events, as the HTML standard defines them (section 9.2).
extension ControlAPI {
  static let maximumSubscribers = 64
  /// Progress of one transfer is sent at most once in this time.
  private static let tick: Duration = .milliseconds(100)
  /// A stream whose access has ended gets no event, and ends within this time.
  private static let recheck: Duration = .seconds(1)
  private static let batch = 1000
  /// What is written at once, in bytes: it stays in memory while its reader does not read.
  private static let maximumWrite = 4 << 20
  /// How many transfers are read at once. Over TCP, each may have an address of 64 KiB.
  private var portion: Int { isLocal ? Self.batch : 50 }

  func events(for request: Request) throws -> Response {
    let known = try lastEvent(request)
    guard subscribers.value < Self.maximumSubscribers else {
      throw Problem(
        503, "Service Unavailable",
        "\(Self.maximumSubscribers) subscribers read the events already; end one of them")
    }
    let session = session(of: request)
    let token = TokenCheck.token(in: request.headers)
    let scoped = token.flatMap { accessList.scope(of: $0) == nil ? nil : $0 }
    var headers = HTTPFields()
    headers[.contentType] = "text/event-stream"
    headers[.cacheControl] = "no-store"
    headers[.xContentTypeOptions] = "nosniff"
    // For nginx, which otherwise keeps events until they fill a buffer.
    if let buffering = HTTPField.Name("X-Accel-Buffering") { headers[buffering] = "no" }
    return Response(
      status: .ok, headers: headers,
      body: ResponseBody { writer in
        subscribers.change(by: 1)
        defer { subscribers.change(by: -1) }
        let events = manager.events(after: known)
        let watching = Task {
          while isAllowed(session, scoped) {
            guard (try? await Task.sleep(for: Self.recheck)) != nil else { return }
          }
          events.cancel()
        }
        defer { watching.cancel() }
        try await request.body.consumeWithInboundCloseHandler { _ in
          try await withGracefulShutdownHandler {
            try await write(events, of: session, scoped, to: &writer)
          } onGracefulShutdown: {
            events.cancel()
          }
        } onInboundClosed: {
          events.cancel()
        }
        try await writer.finish(nil)
      })
  }

  /// Whether the access with which a stream began is still there: the session of a page, or the
  /// token of a program.
  private func isAllowed(_ session: String?, _ token: String?) -> Bool {
    (session.map(sessions.has) ?? true) && (token.map { accessList.scope(of: $0) != nil } ?? true)
  }

  /// - Throws: `Problem` unless it is the number of an event.
  private func lastEvent(_ request: Request) throws(Problem) -> Int? {
    guard let text = HTTPField.Name("Last-Event-ID").flatMap({ request.headers[$0] }) else {
      return nil
    }
    guard let number = Int(text), number >= 0 else {
      throw .badRequest("the Last-Event-ID must be the id of an event of this stream")
    }
    return number
  }

  @concurrent
  private func write(
    _ events: QueueEvents, of session: String?, _ token: String?,
    to writer: inout any ResponseBodyWriter
  ) async throws {
    // At once, so that a subscriber knows that it is one.
    try await writer.write(ByteBuffer(string: ": haul\n\n"))
    while true {
      let changed = await events.next(atMost: Self.batch)
      guard !changed.isEmpty else { return }
      guard isAllowed(session, token) else { return }
      let next = ContinuousClock.now + Self.tick
      var (frames, affected) = (ByteBuffer(), Set<TransferID>())
      for event in changed {
        switch event {
        case .reset(let snapshot):
          try await write(snapshot, to: &writer)
        case .transfer(let event):
          var document = EventDocument(event, at: SystemClock().wallSeconds)
          if !isLocal { document.hideProgramOutput() }
          try frames.writeMessage(.event(document))
          affected.insert(event.id)
          try await flush(&frames, to: &writer)
        }
      }
      var rest = affected.sorted()[...]
      while !rest.isEmpty {
        for document in try await documents(of: Array(rest.prefix(portion))) {
          try frames.writeMessage(.transfer(document))
        }
        rest = rest.dropFirst(portion)
        try await flush(&frames, to: &writer)
      }
      if frames.readableBytes > 0 { try await writer.write(frames) }
      try await Task.sleep(until: next, clock: .continuous)
    }
  }

  @concurrent
  private func flush(
    _ frames: inout ByteBuffer, to writer: inout any ResponseBodyWriter
  ) async throws {
    guard frames.readableBytes >= Self.maximumWrite else { return }
    try await writer.write(frames)
    frames.clear()
  }

  /// The whole list, a page at a time.
  @concurrent
  private func write(
    _ snapshot: QueueSnapshot, to writer: inout any ResponseBodyWriter
  ) async throws {
    var frames = ByteBuffer()
    try frames.writeMessage(.reset)
    var rest = snapshot.transfers[...]
    while !rest.isEmpty {
      let page = rest.prefix(portion)
      rest = rest.dropFirst(page.count)
      for document in try await documents(of: page.map(\.id)) {
        try frames.writeMessage(.transfer(document))
      }
      try await writer.write(frames)
      frames.clear()
    }
    try frames.writeMessage(.ready(number: snapshot.number))
    try await writer.write(frames)
  }
}

extension ByteBuffer {
  /// Only a stored state change, and the end of a snapshot, have an id: a subscriber that comes
  /// back after any other message receives again what followed the last id.
  fileprivate mutating func writeMessage(_ message: StreamMessage) throws {
    switch message {
    case .reset: writeFrame("reset", data: try StrictJSON.encode([String: Int]()))
    case .transfer(let document): writeFrame("transfer", data: try StrictJSON.encode(document))
    case .ready(let number):
      writeFrame("ready", id: number, data: try StrictJSON.encode(["number": number]))
    case .event(let document):
      writeFrame("event", id: document.number, data: try StrictJSON.encode(document))
    }
  }

  /// JSON has no line breaks of its own, so that one line is enough.
  private mutating func writeFrame(_ name: String, id: Int? = nil, data: some Sequence<UInt8>) {
    writeString("event: \(name)\n")
    if let id { writeString("id: \(id)\n") }
    writeString("data: ")
    writeBytes(data)
    writeString("\n\n")
  }
}
