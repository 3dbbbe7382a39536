import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A transport and a store of a user, with public API only.
@Suite(.timeLimit(.minutes(10))) struct CallersTransportTests {
  private struct NotOurs: Error {}

  /// Answers each request with the result of a closure, and records the requests.
  private final class Scripted: Transport {
    private let asked = NIOLockedValueBox<[FetchRequest]>([])
    private let answer: @Sendable (FetchRequest, Int) throws -> FetchResponse

    init(_ answer: @escaping @Sendable (FetchRequest, Int) throws -> FetchResponse) {
      self.answer = answer
    }

    var requests: [FetchRequest] { asked.withLockedValue { $0 } }

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      let number = asked.withLockedValue { asked in
        asked.append(request)
        return asked.count
      }
      return try answer(request, number)
    }
  }

  private static let content = FaultScript.Resource("/f", seed: 3, length: 200_000).content

  /// The requested range, as a correct server sends it.
  private static func part(_ request: FetchRequest, upTo end: Int = content.count) -> FetchResponse
  {
    let first = Int(request.firstByte ?? 0)
    let last = min(Int(request.lastByte ?? .max), content.count - 1)
    let head = ResponseHead(
      status: 206,
      headers: [
        "Content-Range": "bytes \(first)-\(last)/\(content.count)", "ETag": "\"1\"",
        "Content-Length": "\(last + 1 - first)",
      ],
      url: request.url)
    guard end <= last else {
      return FetchResponse(head: head, bytes: Array(content[first...last]))
    }
    let (body, bytes) = AsyncThrowingStream.makeStream(of: (any ByteChunk).self)
    bytes.yield(Array(content[first..<end]))
    bytes.finish(throwing: NotOurs())
    return FetchResponse(head: head, body: body)
  }

  /// Downloads with a transport to a simulated disk; no wait takes time.
  private func download(
    _ transport: Scripted, _ change: (inout DownloadRequest) -> Void = { _ in }
  ) async throws -> (result: TransferResult?, isWhole: Bool) {
    let (disk, clock) = (SimulatedDisk(), ManualClock())
    disk.makeDirectory("/d")
    let manager = try TransferManager(
      testing: .init(), transport: transport, disk: disk, clock: clock)
    let events = manager.events()
    var result: TransferResult?
    try await manager.add(
      .download(try ResourceURL("https://example.com/f"), to: .file("/d/f"), change))
    for await event in events {
      if case .attempt(_, _, let delay) = event.kind { clock.advance(by: delay) }
      guard case .finished(let end) = event.kind else { continue }
      result = end
      break
    }
    await manager.shutdown()
    return (result, disk.contents(of: "/d/f") == Self.content)
  }

  @Test func `A custom transport can download a file`() async throws {
    let transport = Scripted { request, _ in Self.part(request) }
    let end = try await download(transport)
    #expect(end.result?.error == nil && end.result?.state == .completed)
    #expect(end.isWhole)
  }

  @Test func `Errors of a custom transport and interrupted bodies are retried`() async throws {
    let transport = Scripted { request, number in
      switch number {
      case 1: throw NotOurs()
      case 2: Self.part(request, upTo: 70_000)
      default: Self.part(request)
      }
    }
    let end = try await download(transport)
    #expect(end.result?.error == nil && end.result?.state == .completed)
    #expect(end.isWhole)
    #expect(transport.requests.map(\.firstByte) == [0, 0, 70_000])
    #expect(transport.requests.last?.headersToSend["If-Range"] == "\"1\"")
  }

  @Test func `A TransferError of a transport is kept, and other errors show their type`()
    async throws
  {
    let refusing = Scripted { _, _ in throw TransferError(.dns, "no such host") }
    #expect(try await download(refusing).result?.error?.code == .dns)
    let failing = Scripted { _, _ in throw NotOurs() }
    let error = try await download(failing) { $0.retry.retries = 1 }.result?.error
    #expect(error?.code == .connectionLost)
    #expect(error?.message.contains("NotOurs") == true)
    #expect(failing.requests.map(\.firstByte) == [0, 0, nil], "the last is without a range")
  }

  @Test func `The headers to send include the caller's fields, the range and the password`() throws
  {
    let request = FetchRequest(
      url: try ResourceURL("https://me:secret@example.com/f"),
      headers: ["X-A": "1", "range": "bytes=7-"], firstByte: 10, lastByte: 19, ifRange: "\"1\"")
    let fields = request.headersToSend
    #expect(fields["Range"] == "bytes=10-19" && fields.values(of: "Range").count == 1)
    #expect(fields["If-Range"] == "\"1\"" && fields["Accept-Encoding"] == "identity")
    #expect(fields["X-A"] == "1" && fields["Authorization"]?.hasPrefix("Basic ") == true)
    let elsewhere = request.redirected(to: try ResourceURL("https://example.org/g"))
    #expect(elsewhere.headersToSend["X-A"] == nil)
    #expect(elsewhere.headersToSend["Authorization"] == nil)
    #expect(elsewhere.headersToSend["Range"] == "bytes=10-19")
  }

  @Test func `A list in a custom store is continued by the next manager`() async throws {
    let store = ListStore()
    let transport = Scripted { request, _ in Self.part(request) }
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    let first = try await TransferManager(store: store, configuration, transport: transport)
    var request = TransferRequest.download(
      try ResourceURL("https://example.com/f"), to: .stream)
    request.identifier = "f"
    let id = try await first.add(request).id
    #expect(try await first.pause(.ids([id])).refused.isEmpty)
    await first.shutdown()
    let second = try await TransferManager(store: store, configuration, transport: transport)
    #expect(try await second.transfer(identifier: "f")?.id == id)
    #expect(await second.summaries().map(\.state) == [.paused])
    await second.shutdown()
    #expect(store.timesClosed == 2)
  }
}

/// A store as a user may write it: records in their order, without a log.
private final class ListStore: Store {
  private struct State {
    var records: [TransferID: TransferRecord] = [:]
    var lastEvent = 0
    var timesClosed = 0

    var inOrder: [TransferRecord] {
      records.values.sorted { $0.storedState.rank < $1.storedState.rank }
    }
  }

  private let state = NIOLockedValueBox(State())

  var timesClosed: Int { state.withLockedValue { $0.timesClosed } }
  var isDurable: Bool { false }

  func open() async throws(TransferError) -> StoredQueue {
    state.withLockedValue { StoredQueue(records: $0.inOrder, lastEvent: $0.lastEvent) }
  }

  func commit(_ change: StoreChange) async throws(TransferError) {
    state.withLockedValue { state in
      for record in change.added { state.records[record.id] = record }
      for update in change.updated {
        state.records[update.id]?.storedState = update.storedState
        if let result = update.result { state.records[update.id]?.result = result }
        if let request = update.request { state.records[update.id]?.request = request }
      }
      for id in change.removed { state.records[id] = nil }
      if let event = change.events.last { state.lastEvent = event.number }
    }
  }

  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    state.withLockedValue { state in ids.compactMap { state.records[$0] } }
  }

  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    state.withLockedValue { state in
      let found = state.inOrder.filter { record in
        query.statuses?.contains(record.storedState.status) ?? true
          && (query.group == nil || record.request.group == query.group)
          && record.storedState.rank > query.afterRank ?? .min
      }
      return Array(found.prefix(query.atMost))
    }
  }

  func batch(_ key: String) async throws(TransferError) -> [TransferID]? { nil }

  func events(from number: Int, atMost: Int) async throws(TransferError) -> [StoredEvent]? { nil }

  func close() async { state.withLockedValue { $0.timesClosed += 1 } }
}
