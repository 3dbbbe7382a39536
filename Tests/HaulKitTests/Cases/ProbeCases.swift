import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Detecting the abilities of the server.
@Suite
struct ProbeCases {
  @Test
  func `Case 1: no HEAD is sent; the first range is the probe, and its body is kept`() async throws
  {
    let dead = Fault(.stallBeforeHead, when: .init(method: "HEAD"))
    try await DownloadFixture.serving(.file(512 * kibi, dead)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(fixture.requests.map(\.method) == ["GET"])
      #expect(fixture.ranges == ["bytes=0-"])
      #expect(outcome.result.fetched == 512 * kibi)
    }
  }

  @Test func `Case 2: a wrong length in the answer to HEAD does not matter`() async throws {
    let lie = Fault(.declareLength(by: -1000), when: .init(method: "HEAD"))
    try await DownloadFixture.serving(.file(512 * kibi, lie)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file(connections: 4)))
      #expect(fixture.requests.allSatisfy { $0.method == "GET" })
    }
  }

  @Test func `Case 3: ranges are used if they work, with or without Accept-Ranges`() async throws {
    let resource = FaultScript.Resource.file(1024 * kibi, .firstHeld) { $0.acceptRanges = .absent }
    try await DownloadFixture.serving(resource) { fixture in
      let outcome = try await fixture.finishWithTwo(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome, length: 1024 * kibi)
      #expect(fixture.requests.count > 1)
      #expect(fixture.requests.allSatisfy { $0.status == 206 })
    }
  }

  @Test func `Case 4: a server without ranges is read over one connection`() async throws {
    let resource = FaultScript.Resource.file(1024 * kibi) { $0.acceptRanges = .none }
    try await DownloadFixture.serving(resource) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome, length: 1024 * kibi)
      #expect(fixture.ranges == ["bytes=0-"])
    }
  }

  @Test
  func `Case 4: if a server without ranges breaks off, the file starts over, and bytes do not mix`()
    async throws
  {
    let resource = FaultScript.Resource.file(
      512 * kibi, Fault(.reset(after: 200_000), when: .request(1))
    ) {
      $0.acceptRanges = .none
    }
    try await DownloadFixture.serving(resource) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 1)
      #expect(outcome.restarts == 0)
      #expect(fixture.server.snapshot.maximumInProgress(resourcePath) == 1)
    }
  }

  @Test
  func `Case 5: a 200 to an additional range is dropped, and the first connection continues`()
    async throws
  {
    let fault = Fault(.ignoreRange, when: .init(offsetAtLeast: 1))
    try await DownloadFixture.serving(.file(1024 * kibi, .firstHeld, fault)) { fixture in
      let outcome = try await fixture.finishWithTwo(try fixture.file(connections: 2))
      try fixture.expectWhole(outcome, length: 1024 * kibi)
      #expect(outcome.restarts == 0)
      #expect(outcome.attempts == 0)
      #expect(fixture.requests.map(\.status).contains(200))
    }
  }

  @Test func `Case 5: a 200 to a resumed range is never written at the offset`() async throws {
    let resource = FaultScript.Resource.file(512 * kibi, Fault(.stall(after: 200 * kibi)))
    try await DownloadFixture.serving(resource) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [Fault(.ignoreRange)])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(outcome.result.reused == 0, "every byte is downloaded again")
      #expect(outcome.result.fetched == 512 * kibi)
      #expect(fixture.requests.allSatisfy { $0.status == 200 })
    }
  }

  @Test
  func `Case 5: if a server answers 200 to any If-Range, the plain range is requested`()
    async throws
  {
    let resource = FaultScript.Resource.file(512 * kibi, Fault(.stall(after: 200 * kibi)))
    try await DownloadFixture.serving(resource) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [Fault(.refuseIfRange)])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.requests.map(\.status) == [200, 206])
      #expect(fixture.requests.map { $0.ifRange != nil } == [true, false])
      #expect(Set(fixture.ranges) == ["bytes=204800-524287"])
    }
  }
}
