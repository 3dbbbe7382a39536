import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The event stream of a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct EventStreamRuns {
  private func withDaemon(
    _ body: (DaemonFixture, ControlClient) async throws -> Void
  ) async throws {
    try await DaemonFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) { fixture in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      try await ControlClient.with(try fixture.location()) { try await body(fixture, $0) }
    }
  }

  /// The messages up to the first one that fulfils a condition.
  private func read(
    _ client: ControlClient, after number: Int? = nil,
    until isLast: (StreamMessage) -> Bool
  ) async throws -> [StreamMessage] {
    var messages: [StreamMessage] = []
    for try await message in try await client.events(after: number) {
      messages.append(message)
      if isLast(message) { break }
    }
    return messages
  }

  private static func isReady(_ message: StreamMessage) -> Bool {
    if case .ready = message { true } else { false }
  }

  @Test
  func `begins with the whole list, and then reports each state change once, with its number`()
    async throws
  {
    try await withDaemon { fixture, client in
      _ = try await fixture.haul("suspend")
      let (a, b) = (try await fixture.add("/a"), try await fixture.add("/b"))
      let first = try await read(client, until: Self.isReady)
      #expect(first.first == .reset)
      let listed: [String] = first.compactMap {
        if case .transfer(let document) = $0 { document.id.description } else { nil }
      }
      #expect(listed == [a, b])
      guard case .ready(let number)? = first.last else { return }
      _ = try await fixture.haul("unsuspend")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      var ends: Set<String> = []
      let later = try await read(client, after: number) {
        if case .event(let event) = $0, event.type == .finished { ends.insert("\(event.id)") }
        return ends.count == 2
      }
      let numbers: [Int] = later.compactMap {
        if case .event(let event) = $0 { event.number } else { nil }
      }
      #expect(numbers == Array((number + 1)...(number + numbers.count)), "no gap, none twice")
      #expect(!later.contains(.reset))
    }
  }

  @Test
  func `a number that the list has not reached is answered with the whole list`() async throws {
    try await withDaemon { fixture, client in
      _ = try await fixture.haul("suspend")
      _ = try await fixture.add("/a")
      #expect(try await read(client, after: 1_000_000, until: Self.isReady).first == .reset)
    }
  }

  @Test func `a proxy that obeys its fields neither keeps events back nor stores them`()
    async throws
  {
    try await withDaemon { fixture, _ in
      let stream = try SocketCall.send(
        "/api/v1/events", at: .socket(try fixture.location().socket))
      var head = ""
      while !head.contains("\r\n\r\n") {
        let data = stream.availableData
        try #require(!data.isEmpty, "\(head)")
        head += String(decoding: data, as: UTF8.self)
      }
      for field in ["x-accel-buffering: no", "cache-control: no-store"] {
        #expect(head.lowercased().contains(field), "\(field)")
      }
    }
  }

  @Test
  func `ends when the daemon is stopped, also for a subscriber that does not read`() async throws {
    try await withDaemon { fixture, client in
      let reading = try await client.events()
      let silent = try await client.events()
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      for try await _ in reading {}
      _ = silent
    }
  }
}
