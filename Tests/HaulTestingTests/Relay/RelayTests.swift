import FoundationEssentials
import HaulTesting
import Testing

/// A relay.
@Suite(.timeLimit(.minutes(10)))
struct RelayTests {
  private static let length = 2_000_000
  private let script = FaultScript([
    FaultScript.Resource("/f", seed: 42, length: Int64(Self.length))
  ])

  /// A relay in front of a server with `/f`.
  private func through(
    _ rules: RelayRules = RelayRules(), _ body: (FaultServer, Relay) async throws -> Void
  ) async throws {
    try await withFaultServer(script) { server in
      try await withRelay(rules, port: server.port) { relay in try await body(server, relay) }
    }
  }

  private static func rules(_ change: (inout RelayRules) -> Void) -> RelayRules {
    var rules = RelayRules()
    change(&rules)
    return rules
  }

  private static let manners = [
    rules { _ in },
    rules { $0.window = 1000 },
    rules { $0.roundTrip = .milliseconds(2) },
    rules {
      $0.roundTrip = .milliseconds(1)
      $0.window = 20_000
    },
    rules { $0.rate = 50 << 20 },
    rules { $0.total = .init(50 << 20, above: [0: 40 << 20]) },
    rules {
      $0.rate = 50 << 20
      $0.total = .init(60 << 20)
    },
    rules {
      $0.roundTrip = .milliseconds(1)
      $0.rates = [1: 50 << 20]
      $0.total = .init(60 << 20)
      $0.window = 60_000
    },
  ]

  @Test(arguments: manners)
  func `passes on requests and answers unchanged, however slowly`(_ rules: RelayRules) async throws
  {
    try await through(rules) { _, relay in
      let client = try await WireClient.connect(port: relay.port)
      for _ in 1...2 {
        let response = try await client.get("/f")
        #expect(response.status == 200)
        #expect(response.body.count == Self.length)
        #expect(content.matches(response.body))
      }
      await client.close()
      #expect(relay.snapshot.accepted == 1)
      #expect(relay.snapshot.bytes > 2 * Self.length)
    }
  }

  @Test(arguments: manners)
  func `ends the answer after its last byte`(_ rules: RelayRules) async throws {
    try await through(rules) { _, relay in
      let client = try await WireClient.connect(port: relay.port)
      try await client.request("GET", "/f", ["Connection: close"])
      let head = await client.takeHead()
      #expect(head.status == 200)
      let (body, end) = await client.takeToEnd()
      #expect(body.count == Self.length)
      #expect(content.matches(body))
      #expect(end == .eof)
    }
  }

  @Test(arguments: manners)
  func `passes on the answer to a client that has closed its output`(_ rules: RelayRules)
    async throws
  {
    try await withEcho { port in
      try await withRelay(rules, port: port) { relay in
        let client = try await WireClient.connect(port: relay.port)
        let text = String(repeating: "0123456789abcdef", count: 10_000)
        try await client.send(text)
        try await client.endSending()
        let (bytes, end) = await client.takeToEnd()
        // Not compared as arrays, because a failure would print every byte.
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        #expect(end == .eof)
      }
    }
  }

  @Test func `passes on a connection that the server resets`() async throws {
    try await through { server, relay in
      server.setFaults("/f", [Fault(.cut(how: .reset, after: 1000))])
      let client = try await WireClient.connect(port: relay.port)
      try await client.request("GET", "/f")
      let (bytes, end) = await client.takeToEnd()
      #expect(bytes.count < Self.length)
      #expect(end == .reset)
      #expect(relay.snapshot.resets == 0)
    }
  }

  @Test func `resets a connection when the dice say so`() async throws {
    try await through(Self.rules { $0.resetProbability = 1 }) { _, relay in
      let client = try await WireClient.connect(port: relay.port)
      try await client.request("GET", "/f")
      let (bytes, end) = await client.takeToEnd()
      #expect(bytes.count <= RelayFlow.bufferSize)
      #expect(end == .reset)
      #expect(relay.snapshot.resets == 1)
    }
  }

  @Test func `ends the connection if the server is not reachable`() async throws {
    try await withRelay(port: 1) { relay in
      do {
        let client = try await WireClient.connect(port: relay.port)
        #expect(await client.takeToEnd().bytes.isEmpty)
      } catch {
        // It ended while it was being opened.
      }
      #expect(relay.snapshot.accepted == 1)
    }
  }

  @Test func `reports how many connections were open, and when`() async throws {
    try await through { _, relay in
      let first = try await WireClient.connect(port: relay.port)
      #expect(try await first.get("/f").status == 200)
      let second = try await WireClient.connect(port: relay.port)
      #expect(try await second.get("/f").status == 200)
      #expect(relay.snapshot.history.map(\.open) == [1, 2])
      #expect(relay.snapshot.mostOpen == 2)
      try await relay.shutdown()
      #expect(relay.snapshot.history.map(\.open) == [1, 2, 1, 0])
    }
  }

  @Test func `reports as JSON`() throws {
    var seen = RelaySnapshot()
    seen.accepted = 2
    seen.bytes = 7
    seen.history = [
      .init(nanoseconds: 1_999_999, open: 1), .init(nanoseconds: 5_000_000, open: 2),
    ]
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(
      String(decoding: try encoder.encode(seen), as: UTF8.self)
        == #"{"accepted":2,"bytes":7,"history":[[1,1],[5,2]],"mostOpen":2,"resets":0}"#)
  }
}
