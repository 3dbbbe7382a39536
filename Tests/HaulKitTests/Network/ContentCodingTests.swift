import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Content codings.
@Suite(.timeLimit(.minutes(10))) struct ContentCodingTests {
  /// 20,000 times `haul` and a line feed, in each coding.
  private static let bodies: [(coding: String, base64: String)] = [
    (
      "gzip",
      """
      H4sIAAAAAAACA+3EoQEAAAgDoO6XtgWr//uGAQLpnYokSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk\
      SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk\
      SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZKkjx18i3yvoIYBAA==
      """
    ),
    (
      "x-gzip",
      """
      H4sIAAAAAAACA+3EoREAAAgEoO6Wtg9W93cPDwLpnYokSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk\
      SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZK+dH05tVlQwwAAH4sIAAAAAAACA+3EoREAAAgE\
      oO6Wtg9W93cPDwLpnYokSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk\
      SZIkSZIkSZIkSZIkSZIkSZIkSZK+dH05tVlQwwAA
      """
    ),
    (
      "deflate",
      """
      eNrtxKEBAAAIA6Dul7YFq//7hgEC6Z2KJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS\
      JEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS\
      JEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSpI8dMMMWTA==
      """
    ),
    (
      "deflate",
      """
      7cShAQAACAOg7pe2Bav/+4YBAumdiiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ\
      kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ\
      kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkqSPHQ==
      """
    ),
    ("br", "W5+Ggd9I6eZNS4UwtGKri9eigCq/gAs="),
  ]
  private static let plain = String(repeating: "haul\n", count: 20_000)

  private func resource(
    _ coding: String, _ base64: String, isDelimited: Bool = false
  ) -> FaultScript.Resource {
    .plain("f").with {
      $0.faults = [
        Fault(
          .addHeaders(fields: coding.split(separator: "|").map { "Content-Encoding: \($0)" }),
          .body(base64: base64)),
        Fault(isDelimited ? .closeDelimited() : .addHeaders(fields: [])),
      ]
    }
  }

  @Test(arguments: bodies.indices)
  func `A coded body is decoded, over one connection and without a range`(index: Int)
    async throws
  {
    let (coding, base64) = Self.bodies[index]
    try await DownloadFixture.with([resource(coding, base64)]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") { $0.decodesContent = true })
      #expect(outcome.result.state == .completed, "\(outcome.result)")
      #expect(outcome.result.verified == .framing)
      #expect(outcome.result.coding == nil)
      #expect(String(decoding: try fixture.contents("out"), as: UTF8.self) == Self.plain)
      let requests = fixture.server.snapshot.requests
      #expect(requests.count == 1)
      #expect(requests[0].range == nil)
      #expect(requests[0].header("accept-encoding")?.hasPrefix("gzip, deflate") == true)
    }
  }

  @Test(arguments: ["gzip", "deflate", "br"])
  func `An empty body with a coding is an empty file if its end is marked`(
    coding: String
  ) async throws {
    let endings: [(Fault.Action, TransferError.Code?)] = [
      (.chunked(), nil), (.closeDelimited(), .connectionLost),
    ]
    for (ending, code) in endings {
      let file = FaultScript.Resource.plain("f").with {
        $0.faults = [
          Fault(.addHeaders(fields: ["Content-Encoding: \(coding)"]), .body(base64: ""), ending)
        ]
      }
      try await DownloadFixture.with([file]) { fixture in
        let outcome = try await fixture.finish(
          fixture.request("/f", as: "out") {
            $0.decodesContent = true
            $0.retry.retries = 0
          })
        #expect(outcome.result.error?.code == code, "\(outcome.result)")
        #expect(try fixture.names().contains("out") == (code == nil))
      }
    }
  }

  @Test func `An unrequested coding is stored as sent, and reported`() async throws {
    let (coding, base64) = Self.bodies[0]
    try await DownloadFixture.with([resource(coding, base64)]) { fixture in
      let outcome = try await fixture.finish(fixture.request("/f", as: "out"))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.coding == "gzip")
      #expect(try fixture.contents("out") == Array(Data(base64Encoded: base64) ?? Data()))
    }
  }

  @Test(arguments: bodies.indices)
  func `A coded stream without its end is incomplete`(index: Int) async throws {
    let (coding, base64) = Self.bodies[index]
    let bytes = Data(base64Encoded: base64) ?? Data()
    let short = bytes.dropLast(1).base64EncodedString()
    try await DownloadFixture.with([resource(coding, short, isDelimited: true)]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") {
          $0.decodesContent = true
          $0.retry.retries = 0
        })
      #expect(outcome.result.error?.code == .connectionLost, "\(outcome.result)")
      #expect(try !fixture.names().contains("out"))
    }
  }

  @Test(arguments: bodies.indices)
  func `A body with bytes after its coded stream fails`(index: Int) async throws {
    let (coding, base64) = Self.bodies[index]
    var bytes = Data(base64Encoded: base64) ?? Data()
    bytes += Data("more".utf8)
    try await DownloadFixture.with([resource(coding, bytes.base64EncodedString())]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") { $0.decodesContent = true })
      #expect(outcome.result.error?.code == .protocolViolation, "\(outcome.result)")
      #expect(try !fixture.names().contains("out"))
    }
  }

  @Test(arguments: [(Int64(99_999), TransferError.Code?.some(.tooLarge)), (100_000, nil)])
  func `The decoded size is limited`(limit: Int64, code: TransferError.Code?) async throws {
    let (coding, base64) = Self.bodies[0]
    try await DownloadFixture.with([resource(coding, base64)]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") {
          $0.decodesContent = true
          $0.maximumSize = limit
        })
      #expect(outcome.result.error?.code == code)
    }
  }

  /// Two kilobytes, which arrive at once and decode to a million bytes.
  @Test func `A chunk is decoded as its bytes are written, not into memory first`() async throws {
    let member = Data(base64Encoded: Self.bodies[0].base64) ?? Data()
    let body = (0..<10).reduce(into: Data()) { all, _ in all += member }.base64EncodedString()
    try await DownloadFixture.with([resource("gzip", body)]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") {
          $0.decodesContent = true
          $0.maximumSize = 600_000
        })
      #expect(outcome.result.error?.code == .tooLarge)
      #expect(outcome.result.bytes > 0)
    }
  }

  /// Such a body has no decoded bytes, and would never end.
  @Test func `Empty members of a gzip body count against the limit`() async throws {
    let member = Data(base64Encoded: "H4sIAAAAAAAAAwMAAAAAAAAAAAA=") ?? Data()
    let body = (0..<10_000).reduce(into: Data()) { all, _ in all += member }
    for (limit, code) in [(Int64(30_000), TransferError.Code?.some(.tooLarge)), (40_000, nil)] {
      try await DownloadFixture.with([resource("gzip", body.base64EncodedString())]) { fixture in
        let outcome = try await fixture.finish(
          fixture.request("/f", as: "out") {
            $0.decodesContent = true
            $0.maximumSize = limit
          })
        #expect(outcome.result.error?.code == code, "\(outcome.result)")
      }
    }
  }

  @Test(arguments: ["zstd", "gzip, gzip", "gzip,br,deflate", "gzip|gzip"])
  func `An unknown coding and several codings fail, and nothing is stored`(coding: String)
    async throws
  {
    try await DownloadFixture.with([resource(coding, "AAAA")]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") { $0.decodesContent = true })
      #expect(outcome.result.error?.code == .notYetSupported)
      #expect(try !fixture.names().contains("out"))
    }
  }

  @Test func `A body without a coding is stored unchanged`() async throws {
    try await DownloadFixture.with([.plain("f")]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") { $0.decodesContent = true })
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.coding == nil)
    }
  }

  @Test func `Bytes of a run without decoding are not joined with decoded ones`() async throws {
    let (coding, base64) = Self.bodies[0]
    try await DownloadFixture.with([.held("f")]) { fixture in
      let paused = try await fixture.run(
        fixture.request("/f", as: "out"),
        interruption: { try await fixture.server.waitForHeld("/f") })
      #expect(paused == nil)
      fixture.server.setFaults("/f", resource(coding, base64).faults)
      let outcome = try await fixture.finish(
        fixture.request("/f", as: "out") { $0.decodesContent = true })
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.reused == 0)
      #expect(String(decoding: try fixture.contents("out"), as: UTF8.self) == Self.plain)
    }
  }
}
